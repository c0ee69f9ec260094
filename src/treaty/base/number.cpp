#include "treaty/base/number.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "treaty/base/text.h"

namespace treaty {

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::int64_t value = 0;
  const auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : std::numeric_limits<std::int64_t>::max();
}

}  // namespace treaty
