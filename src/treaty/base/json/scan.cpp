#include "treaty/base/json/scan.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "treaty/base/text.h"

namespace treaty::json {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighs = 0x8080808080808080U;

constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }

}  // namespace

std::size_t plain_run(const char* at, const char* end) {
  const char* const start = at;
  if constexpr (std::endian::native == std::endian::little) {
    while (end - at >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      const std::uint64_t special = zero_bytes(word ^ (kOnes * '"')) |
                                    zero_bytes(word ^ (kOnes * '\\')) |
                                    ((word - kOnes * 0x20U) & ~word & kHighs) | (word & kHighs);
      if (special != 0) {
        return static_cast<std::size_t>(at - start) +
               static_cast<std::size_t>(std::countr_zero(special)) / 8;
      }
      at += 8;
    }
  }
  while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20 &&
         static_cast<unsigned char>(*at) < 0x80) {
    ++at;
  }
  return static_cast<std::size_t>(at - start);
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string_view misreading(std::string_view rest) {
  if (rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity")) {
    return "NaN and Infinity are not JSON; write a number or null";
  }
  if (rest.starts_with("'")) return "strings stand in double quotes";
  if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with("#")) {
    return "JSON has no comments";
  }
  if (rest.starts_with("True") || rest.starts_with("False") || rest.starts_with("None")) {
    return "this looks like Python; JSON writes true, false and null";
  }
  if (rest.starts_with("undefined")) return "undefined is not JSON; write null";
  if (rest.starts_with("+") || rest.starts_with(".")) {
    return "a number begins with a digit or a minus sign";
  }
  if (rest.starts_with("]") || rest.starts_with("}") || rest.starts_with(",")) {
    return "a value is missing here";
  }
  return {};
}

}  // namespace treaty::json
