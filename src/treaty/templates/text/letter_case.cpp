#include "treaty/templates/text/letter_case.h"

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates {
namespace {

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

std::string upper_case(std::string_view text) { return changed(upper_case_ranges(), text, "SS"); }
std::string lower_case(std::string_view text) { return changed(lower_case_ranges(), text, "ß"); }

std::string title_case(std::string_view character) {
  return changed(upper_case_ranges(), character, "Ss");
}

}  // namespace treaty::templates
