// An HTTP answer as commands take it: JSON, or the text that `curl -i` prints.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/base/headers.h"
#include "treaty/base/json.h"
#include "treaty/cli/command_line.h"

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

// Reads the file that the arguments name (standard input by default), as one answer or, with
// --ndjson, as one a line, and gives each to `each`. A line that cannot be read is told on stderr
// and answered with null, so that lines in and lines out stay side by side.
int for_each_answer(const std::string& command, const Arguments& arguments,
                    const std::function<void(const AnswerInput&)>& each);

}  // namespace treaty::cli
