// The words in which a model is told what is expected: short, and never longer than they must be
// however large the value is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/schema/program.h"
#include "treaty/base/text.h"

namespace treaty::schema {

// The text, or as much of it as is read: never half of a character.
inline std::string_view beginning(std::string_view text, std::size_t longest = 80) {
  return utf8_prefix(text, longest);
}

// "a string", "an integer or null".
std::string describe_types(std::uint8_t types);

std::string describe_kind(json::Value value);   // "a string", "the number 1.5".
std::string describe_value(json::Value value);  // Itself when it is short.

// "one", "one, two or three"; at most a dozen of them.
std::string joined(const std::vector<std::string>& words);

// "1 item", "2 items".
std::string counted(std::uint64_t count, std::string_view noun);

// A member's name, in quotes and cut when it is long.
std::string quote(std::string_view text);

}  // namespace treaty::schema
