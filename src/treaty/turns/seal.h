// The seal on a text that leaves as PrimaryOutputText: whatever a model said, it keeps RES-10,
// RES-30 and RES-31. Secrets were masked when the text came in (backends/masked_backend). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/turns/embedded_files.h"
#include "treaty/turns/payload_gate.h"

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

// A longer text is cut there, with a warning. Counted are the bytes that it takes in a response,
// where it is escaped, and what the seal adds: a response around it is still a document (JSON-03).
constexpr std::size_t kLongestText = std::size_t{12} << 20U;

// What breaks RES-30 is put into a fence tagged json; what breaks RES-31 is replaced by a note and
// a warning. A blank text becomes a fixed sentence, with a warning. A text that is in order stays
// as it is, and so does one that was sealed before.
Sealed seal(std::string_view text);

// The same for a text that arrives in pieces: what all calls return, joined, is the sealed text,
// however the text was cut. Ordinary text leaves at once; held back is only what may have to be
// changed: a text or an untagged code block that may be JSON as a whole, until it is known, and the
// beginnings of embedded files. Holds at most a few times kLongestText.
class Sealer {
 public:
  std::string feed(std::string_view piece);

  // `text` is the rest. Nothing may be fed afterwards.
  Sealed finish();

 private:
  enum class Place : std::uint8_t { outside, untagged_fence, tagged_fence };

  // A line so far, as a mark that opens or closes a fence (CommonMark).
  struct LineMark {
    std::size_t indent = 0;
    char character = 0;  // Of the mark; 0: none has begun.
    std::size_t length = 0;
    bool has_info = false;  // Anything but white space after the mark.
    bool is_after = false;  // The mark itself is complete.
    bool is_text = false;   // The line is no mark.
  };

  // What was done to a text; each kind is told once.
  struct Changes {
    bool repaired = false;
    bool cut = false;
    bool was_blank = false;
    bool guarded = false;
  };

  std::size_t feed_bytes(std::string_view bytes, bool is_end);
  std::size_t feed_plain(std::string_view bytes);
  void feed_code_point(std::string_view character);
  void feed_text(char c);
  void feed_outside(char c);
  void feed_untagged(char c);
  void feed_body(std::string_view text);
  void end_opening(char c);
  void end_fence();
  static void extend(LineMark& mark, char c);
  bool is_line_of_text(char next) const;
  bool may_close() const;
  bool closes() const;
  std::string give_whole();
  Sealed told(std::string text) const;

  std::string bytes_{};         // The beginning of a character.
  std::size_t size_ = 0;        // Of what was taken, as kLongestText counts it.
  std::string blank_{};         // White space before the first other character.
  bool has_text_ = false;       // There was one.
  PayloadGate whole_{};         // Of the whole text.
  std::string made_{};          // For whole_, or to leave.
  EmbeddedFileFilter files_{};  // Outside of tagged fences.

  Place place_ = Place::outside;
  LineMark line_{};
  LineMark fence_{};           // The opening of the fence around this place.
  std::string info_{};         // What follows a mark that may open a fence, up to the line's end.
  std::string closing_{};      // A line that may close an untagged fence.
  std::string opening_end_{};  // Of an untagged fence: what stands after the place of its tag.
  PayloadGate body_{};         // Of an untagged fence.
  std::size_t removed_before_body_ = 0;
  Changes changes_{};
};

}  // namespace treaty::turns
