// The target of a request, taken apart: the segments of its path and the parameters of its query,
// percent-decoded. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/base/error.h"

namespace treaty::api {

class Target {
 public:
  // Splits first and decodes then: `turn%2F7` is one segment. Refuses escapes that are none, and
  // what is not UTF-8 once decoded.
  static std::expected<Target, Error> parse(std::string_view text);

  // What stands between the slashes; a slash at the end makes an empty last one.
  const std::vector<std::string>& segments() const { return segments_; }

  // The first parameter of that name.
  std::optional<std::string_view> parameter(std::string_view name) const;

 private:
  std::vector<std::string> segments_{};
  std::vector<std::pair<std::string, std::string>> parameters_{};
};

// `id` as one segment of a path.
std::string path_segment(std::string_view id);

}  // namespace treaty::api
