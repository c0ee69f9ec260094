#include "treaty/turns/seal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "treaty/base/text.h"
#include "treaty/contracts/text/guarded_text.h"

namespace treaty::turns {
namespace {

using contracts::Fence;
using contracts::Span;

// In backticks, so that a line with it never becomes the fence of a code block.
constexpr std::string_view kRemoved = "`[embedded file removed]`";
constexpr std::string_view kNoAnswer = "The model gave no answer.";

// What was done to a text; each kind is told once.
struct Changes {
  bool repaired = false;
  bool cut = false;
  bool was_blank = false;
  bool guarded = false;
  bool removed = false;
};

// --- RES-30

// No line of JSON begins with a backtick, so nothing inside can close the fence.
std::string fenced(std::string_view payload) {
  return fmt::format("```json\n{}{}```", payload, payload.ends_with('\n') ? "" : "\n");
}

// Adds the tag to each fence without one that holds a payload.
std::string with_tags(std::string_view text) {
  std::string out;
  std::size_t copied = 0;
  for (const Fence& fence : contracts::find_fences(text)) {
    if (!fence.info.empty() || !contracts::is_payload(fence.body)) continue;
    const std::size_t mark = text.find_first_not_of(' ', fence.begin);
    const std::size_t after = std::min(text.find_first_not_of(text[mark], mark), text.size());
    out.append(text.substr(copied, after - copied)).append("json");
    copied = after;
  }
  return out.append(text.substr(copied));
}

void guard(std::string& text, Changes& changes) {
  if (!contracts::has_unguarded_payload(text)) return;
  text = contracts::is_payload(text) ? fenced(text) : with_tags(text);
  changes.guarded = true;
}

// --- RES-31

void remove_files(std::string& text, Changes& changes) {
  const std::vector<Span> spans = contracts::find_embedded_files(text);
  if (spans.empty()) return;
  std::string out;
  std::size_t copied = 0;
  for (const Span& span : spans) {
    out.append(text, copied, span.begin - copied).append(kRemoved);
    copied = span.end;
  }
  text = out.append(text, copied);
  changes.removed = true;
  // What was removed may have been all that kept a text from being a payload.
  guard(text, changes);
}

// --- What is told

void tell(Sealed& sealed, bool happened, std::string_view rule, std::string_view warning) {
  if (!happened) return;
  sealed.notes.push_back({"sealed", fmt::format(R"({{"Rule":"{}"}})", rule)});
  if (!warning.empty()) sealed.user_warnings.emplace_back(warning);
}

void tell_all(Sealed& sealed, const Changes& changes) {
  tell(sealed, changes.repaired, "JSON-01", "Bytes of the answer that are no text were replaced.");
  tell(sealed, changes.cut, "JSON-03",
       "The answer was longer than 1 MiB and was cut there. Ask for less at once.");
  tell(sealed, changes.was_blank, "RES-10",
       "The model gave an empty answer. Ask again, or ask differently.");
  tell(sealed, changes.guarded, "RES-30", "");  // Nothing of the answer was changed.
  tell(sealed, changes.removed, "RES-31",
       "The answer held the contents of a file, which were removed.");
}

}  // namespace

Sealed seal(std::string text) {
  Changes changes;
  if (!is_utf8(text)) {
    text = repaired_utf8(text);
    changes.repaired = true;
  }
  if (text.size() > kLongestText) {
    text.resize(utf8_prefix(text, kLongestText).size());
    changes.cut = true;
  }
  if (is_blank(text)) {
    text = kNoAnswer;
    changes.was_blank = true;
  }
  guard(text, changes);
  remove_files(text, changes);
  Sealed sealed{.text = std::move(text)};
  tell_all(sealed, changes);
  return sealed;
}

}  // namespace treaty::turns
