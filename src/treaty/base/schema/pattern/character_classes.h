// The sets of characters that a regular expression has names for.
#pragma once

#include <optional>

#include "treaty/base/schema/pattern/pattern_tree.h"

namespace treaty::schema {

constexpr char32_t kLastCharacter = 0x10FFFF;

// The ranges in order and joined, and all other characters when `negated`.
CharacterSet normalized(CharacterSet set, bool negated);

// `.`: everything but the ends of lines.
CharacterSet any_character();

// Of the letter after a backslash: d, D, w, W, s, S.
std::optional<CharacterSet> class_of(char32_t letter);

}  // namespace treaty::schema
