// JSON as people and models write it: what can be read in one way only is rewritten as RFC 8259
// has it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace treaty::contracts {

struct HandwrittenJson {
  std::string text;
  std::vector<std::string> repairs{};  // "JSON-01 (document): a comma before a closing …".
};

// Removes a comma before a closing bracket, writes raw control characters of strings as escapes,
// and removes a fence around the whole text. A text that is still no JSON object after that is
// returned as it was: then it is unknown where its strings begin and end.
HandwrittenJson rewrite_as_json(std::string_view text);

}  // namespace treaty::contracts
