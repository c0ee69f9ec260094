#include "treaty/base/number.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "treaty/base/text.h"

namespace treaty {

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Too large or too small: only the slower conversion tells which.
  return error == std::errc() ? value : std::strtod(std::string(text).c_str(), nullptr);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::int64_t value = 0;
  const auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : std::numeric_limits<std::int64_t>::max();
}

}  // namespace treaty
