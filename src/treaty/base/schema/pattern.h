// Regular expressions over code points, matched in linear time: no pattern and no text makes it
// slow, as they can where a matcher tries one way after the other.
//
// Immutable; may be shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/schema/budget.h"

namespace treaty::schema {

// The syntax of a regular expression: ECMAScript's, as far as it can be matched in linear time.
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

class Pattern {
 public:
  // The error is a message that goes on after "the pattern".
  static std::expected<Pattern, std::string> compile(std::string_view pattern);

  // Whether it matches somewhere in `text`. What it says after the budget is spent means nothing.
  bool matches(std::string_view text, Budget& budget) const;

 private:
  friend class PatternWriter;
  friend class PatternRun;

  enum class Operation : std::uint8_t {
    range,  // One character, from `first` to `second`.
    set,    // One character of sets_[first].
    fork,   // Goes on at `first` and at `second`.
    jump,   // Goes on at `first`.
    text_begin,
    text_end,
    word_boundary,
    inside_word,
    found,
  };
  struct Instruction {
    Operation operation;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  std::vector<Instruction> code_;
  std::vector<CharacterSet> sets_;
};

}  // namespace treaty::schema
