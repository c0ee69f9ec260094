// Small texts taken apart: what stands between separators, and numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace treaty {

// What stands before the next separator; taken off the front, with the separator. Without one, all.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

// The number that the whole text is; nothing when it is none, or too large.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace treaty
