// The syntax of a regular expression: ECMAScript's, as far as it can be matched in linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace treaty::schema {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// In order, without overlap.
using CharacterSet = std::vector<CharacterRange>;

bool contains(const CharacterSet& set, char32_t character);

struct PatternTree {
  enum class Kind : std::uint8_t {
    character,  // One of `set`.
    text_begin,
    text_end,
    word_boundary,
    inside_word,  // Or outside of one: no boundary.
    sequence,
    choice,
    repetition,  // Of the one child.
  };
  static constexpr std::uint32_t kEndless = 0xFFFFFFFF;

  struct Part {
    Kind kind;
    CharacterSet set{};
    std::vector<std::uint32_t> children{};  // Places in `parts`.
    std::uint32_t least = 0;
    std::uint32_t most = 0;
  };

  std::vector<Part> parts;
  std::uint32_t root = 0;
};

// The error is a message: what is wrong with the pattern, or what it uses that is not supported.
std::expected<PatternTree, std::string> read_pattern(std::string_view pattern);

}  // namespace treaty::schema
