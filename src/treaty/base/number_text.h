// Numbers as texts write them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/text.h"

namespace treaty {

// The number that is all of `text`.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Digits with at most `decimals` more behind a point, times 10^decimals: not a bit of what is
// written is lost. Nothing when it is more than `most`.
inline std::optional<std::int64_t> parse_fixed_point(std::string_view text, std::size_t decimals,
                                                     std::int64_t most) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view behind = text.substr(std::min(point + 1, text.size()));
  if (point + behind.size() == 0 || behind.size() > decimals) return std::nullopt;
  std::string digits(text.substr(0, point));
  digits.append(behind).append(decimals - behind.size(), '0');
  if (!std::ranges::all_of(digits, is_digit)) return std::nullopt;
  const auto amount = number_in<std::int64_t>(digits);
  return amount && *amount <= most ? amount : std::nullopt;
}

}  // namespace treaty
