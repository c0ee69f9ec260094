// Regular expressions over code points, matched in linear time: no pattern and no text makes it
// slow, as they can where a matcher tries one way after the other.
//
// Immutable; may be shared between threads.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/schema/budget.h"
#include "treaty/base/schema/pattern_tree.h"

namespace treaty::schema {

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
