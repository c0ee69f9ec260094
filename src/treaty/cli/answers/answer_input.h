// An HTTP answer as commands take it: JSON, or the text that `curl -i` prints.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/base/headers.h"
#include "treaty/base/json.h"

namespace treaty::cli {

struct AnswerInput {
  std::optional<int> status{};
  Headers headers{};
  std::string body{};
  std::optional<double> at{};  // Seconds since 1970.
  std::string provider{};
};

// {"status", "headers", "body", "at", "provider"}, each optional or null; or an object of headers
// alone; or header lines, with a status line before and a body after them if there are any.
std::expected<AnswerInput, Error> read_answer(std::string_view text);

// Names and values of an object; a list of values is a field that came several times.
Headers read_headers(json::Value object);

}  // namespace treaty::cli
