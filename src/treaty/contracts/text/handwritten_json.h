// JSON as people and models write it: what can be read in one way only is rewritten as RFC 8259
// has it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treaty::contracts {

struct HandwrittenJson {
  std::string text;
  std::vector<std::string> repairs{};  // "JSON-01 (document): a comma before a closing …".
};

// Removes a comma before a closing bracket, writes raw control characters of strings as escapes,
// removes a fence around the whole text, and writes UTF-16 as UTF-8. A text that is still no JSON
// object after that is returned as it was: then it is unknown where its strings begin and end.
HandwrittenJson rewrite_as_json(std::string_view text);

// Whether the text begins with a fence that is not closed yet, and what is inside may become an
// object.
bool has_open_fence(std::string_view text);

// A text in UTF-16 as UTF-8, without its byte order mark; a character that the end cuts off is left
// out. Nothing for every other text.
std::optional<std::string> utf8_of_utf16(std::string_view text);

}  // namespace treaty::contracts
