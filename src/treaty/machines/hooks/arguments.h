// The arguments of a hook, read with a clear word about each that is wrong, and the bounds of its
// replies.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/json.h"

namespace treaty::machines {

// Seconds that a hook has for an answer, unless its arguments say otherwise.
constexpr std::chrono::milliseconds kHookTimeout{5'000};

// How replies are read: a context may be as deep as documents are, and stands in one.
inline json::ReadOptions reply_options() {
  return {.max_depth = 2 * json::ReadOptions().max_depth};
}

class Arguments {
 public:
  Arguments(std::string_view hook, const boost::json::object& values)
      : hook_(hook), values_(values) {}

  // Nothing else may be there.
  void allow(std::span<const std::string_view> names);

  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);
  bool boolean(std::string_view name, bool otherwise);
  std::chrono::milliseconds seconds(std::string_view name, std::chrono::milliseconds otherwise);
  std::vector<std::string> required_words(std::string_view name);  // At least one.

  void refuse(std::string_view name, std::string_view what);

  // The first thing that is wrong; empty when nothing is.
  const std::string& fault() const { return fault_; }

 private:
  std::string_view hook_;
  const boost::json::object& values_;
  std::string fault_{};
};

}  // namespace treaty::machines
