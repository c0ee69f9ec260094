// The seal on a text that leaves as PrimaryOutputText: whatever a model said, it keeps RES-10,
// RES-30 and RES-31 and shows no keys. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "treaty/turns/step_note.h"

namespace treaty::turns {

struct Sealed {
  std::string text;
  std::vector<std::string> user_warnings{};
  std::vector<StepNote> notes{};  // "sealed", with the rule.
};

// Longer than any model's answer, and such that a response around it stays a document (JSON-03).
constexpr std::size_t kLongestSealed = std::size_t{2} << 20U;

// What breaks RES-30 is put into a fence tagged json; what breaks RES-31 is replaced by a note and
// a warning; keys and tokens are masked. A blank text becomes a fixed sentence, with a warning. A
// text that is in order stays as it is, and so does one that was sealed before.
Sealed seal(std::string text);

}  // namespace treaty::turns
