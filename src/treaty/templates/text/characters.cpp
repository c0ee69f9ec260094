#include "treaty/templates/text/characters.h"

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::templates {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

std::string_view first_character(std::string_view text) {
  if (text.empty()) return text;
  return text.substr(0, std::max<std::size_t>(read_code_point(text).length, 1));
}

std::string_view last_character(std::string_view text) {
  if (text.empty()) return text;
  constexpr std::size_t kLongest = 4;
  std::size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < kLongest && is_continuation(text[begin])) --begin;
  const std::string_view last = text.substr(begin);
  return read_code_point(last).length == last.size() ? last : text.substr(text.size() - 1);
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_character(text).size());
  return count;
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t size = 0;
  for (; count > 0 && size < text.size(); --count)
    size += first_character(text.substr(size)).size();
  return text.substr(0, size);
}

std::string_view without_leading_space(std::string_view text) {
  while (!text.empty()) {
    const std::string_view first = first_character(text);
    if (!is_blank(first)) break;
    text.remove_prefix(first.size());
  }
  return text;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const std::string_view last = last_character(text);
    if (!is_blank(last)) break;
    text.remove_suffix(last.size());
  }
  return text;
}

std::string_view without_space_around(std::string_view text) {
  return without_trailing_space(without_leading_space(text));
}

}  // namespace treaty::templates
