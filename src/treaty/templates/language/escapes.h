// Strings between quotes, and what a backslash means in them.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace treaty::templates::language {

struct EscapeProblem {
  std::string message;
  std::size_t offset;  // Of the backslash.
};

// The size of the string in quotes that begins `text`, both quotes included; 0 when it has no end.
std::size_t quoted_size(std::string_view text);

// Of conditions: \\ \' \" \n \r \t \uXXXX and nothing else.
std::expected<std::string, EscapeProblem> unescape_strictly(std::string_view text);

// Of templates: what Python knows. Other backslashes stay.
std::expected<std::string, EscapeProblem> unescape(std::string_view text);

}  // namespace treaty::templates::language
