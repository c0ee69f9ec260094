#include "treaty/base/schema/pattern/character_classes.h"

#include <algorithm>

namespace treaty::schema {
namespace {

CharacterSet digits() { return {{'0', '9'}}; }

CharacterSet word_characters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }

// ECMA-262's WhiteSpace and LineTerminator.
CharacterSet white_space() {
  return {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

CharacterSet complement(const CharacterSet& set) {
  CharacterSet others;
  char32_t next = 0;
  for (const auto [first, last] : set) {
    if (first > next) others.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kLastCharacter) others.push_back({next, kLastCharacter});
  return others;
}

}  // namespace

CharacterSet normalized(CharacterSet set, bool negated) {
  std::ranges::sort(set, {}, &CharacterRange::first);
  CharacterSet joined;
  for (const auto range : set) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return negated ? complement(joined) : joined;
}

CharacterSet any_character() { return complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

std::optional<CharacterSet> class_of(char32_t letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return complement(digits());
    case 'w': return word_characters();
    case 'W': return complement(word_characters());
    case 's': return white_space();
    case 'S': return complement(white_space());
    default: return std::nullopt;
  }
}

bool contains(const CharacterSet& set, char32_t character) {
  const auto after = std::ranges::upper_bound(set, character, {}, &CharacterRange::first);
  return after != set.begin() && character <= std::prev(after)->last;
}

}  // namespace treaty::schema
