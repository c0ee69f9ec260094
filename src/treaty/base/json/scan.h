// Small questions that the JSON reader asks of bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace treaty::json {

// How many bytes from `at` on are plain: ASCII, no control character, no quote, no backslash.
std::size_t plain_run(const char* at, const char* end);

constexpr bool is_high_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDBFF; }
constexpr bool is_low_surrogate(char32_t c) { return c >= 0xDC00 && c <= 0xDFFF; }

// What a text that cannot begin a value was most likely meant to be, for a message; else empty.
std::string_view misreading(std::string_view rest);

}  // namespace treaty::json
