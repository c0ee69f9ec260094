// The seal on a text that leaves as PrimaryOutputText: whatever a model said, it keeps RES-10,
// RES-30 and RES-31. Secrets were masked when the text came in (backends/masked_backend). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace treaty::turns {

// Something that a step did on its own, told in the session's events.
struct StepNote {
  std::string kind;  // Of an event: "tool.refused", "tool.suppressed", "sealed".
  std::string data;  // A JSON object.
  bool operator==(const StepNote&) const = default;
};

struct Sealed {
  std::string text;
  std::vector<std::string> user_warnings{};
  std::vector<StepNote> notes{};  // "sealed", with the rule.
};

// A longer text is cut there, with a warning. Sealing makes a text at most twice as long, and a
// response around that is still a document (JSON-03), however it is escaped.
constexpr std::size_t kLongestText = std::size_t{1} << 20U;

// What breaks RES-30 is put into a fence tagged json; what breaks RES-31 is replaced by a note and
// a warning. A blank text becomes a fixed sentence, with a warning. A text that is in order stays
// as it is, and so does one that was sealed before.
Sealed seal(std::string text);

}  // namespace treaty::turns
