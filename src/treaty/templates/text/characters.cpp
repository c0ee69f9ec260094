#include "treaty/templates/text/characters.h"

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::templates {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

constexpr char32_t kSharpS = 0xDF;  // ß has no upper case of one letter.

char32_t changed(std::span<const CaseRange> ranges, char32_t letter) {
  const auto after = std::ranges::upper_bound(ranges, letter, {}, &CaseRange::first);
  if (after == ranges.begin()) return letter;
  const CaseRange& range = *std::prev(after);
  if (letter > range.last || (letter - range.first) % range.step != 0) return letter;
  return static_cast<char32_t>(static_cast<std::int64_t>(letter) + range.distance);
}

std::string changed(std::span<const CaseRange> ranges, std::string_view text,
                    std::string_view sharp_s) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    const CodePoint letter = read_code_point(character);
    if (letter.length == 0) {
      out += character;
    } else if (letter.value == kSharpS) {
      out += sharp_s;
    } else {
      append_utf8(out, changed(ranges, letter.value));
    }
    text.remove_prefix(character.size());
  }
  return out;
}

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

std::string upper_case(std::string_view text) { return changed(upper_case_ranges(), text, "SS"); }
std::string lower_case(std::string_view text) { return changed(lower_case_ranges(), text, "ß"); }

std::string title_case(std::string_view character) {
  return changed(upper_case_ranges(), character, "Ss");
}

}  // namespace treaty::templates
