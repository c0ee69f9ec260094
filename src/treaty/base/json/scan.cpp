#include "treaty/base/json/scan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "treaty/base/text.h"

namespace treaty::json {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighs = 0x8080808080808080U;

constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// How many bytes of the word are plain, from the first in memory on.
std::size_t plain_bytes(std::uint64_t word) {
  const std::uint64_t special = zero_bytes(word ^ (kOnes * '"')) |
                                zero_bytes(word ^ (kOnes * '\\')) |
                                ((word - kOnes * 0x20U) & ~word & kHighs) | (word & kHighs);
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

}  // namespace

std::size_t plain_run(const char* at, const char* end) {
  const auto length = static_cast<std::size_t>(end - at);
  if (length == 0) return 0;  // memcpy takes no null pointer, not even for nothing.
  if (length < kWord) {
    std::uint64_t word = kOnes * 'a';  // Plain beyond the end.
    std::memcpy(&word, at, length);
    return std::min(length, plain_bytes(word));
  }
  for (std::size_t done = 0; done < length; done += kWord) {
    done = std::min(done, length - kWord);  // The last word overlaps the one before.
    std::uint64_t word = 0;
    std::memcpy(&word, at + done, kWord);
    if (const std::size_t plain = plain_bytes(word); plain < kWord) return done + plain;
  }
  return length;
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
