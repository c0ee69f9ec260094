// Percent-encoding (RFC 3986 §2.1).
#pragma once

#include <string>
#include <string_view>

#include "treaty/base/text.h"

namespace treaty {

// What a hexadecimal digit counts; -1 when it is none.
constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return to_lower(c) >= 'a' && to_lower(c) <= 'f' ? to_lower(c) - 'a' + 10 : -1;
}

// Encodes all but letters, digits and `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept = "-._~");

// A `%` that no two digits follow means itself.
std::string percent_decoded(std::string_view text);

}  // namespace treaty
