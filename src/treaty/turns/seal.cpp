#include "treaty/turns/seal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "treaty/base/json/scan.h"
#include "treaty/base/text.h"

namespace treaty::turns {
namespace {

constexpr std::string_view kNoAnswer = "The model gave no answer.";
constexpr std::string_view kReplacement = "\uFFFD";

constexpr std::size_t kShortestFence = 3;
constexpr std::size_t kDeepestIndent = 3;

bool ends_line(char c) { return c == '\n' || c == '\r'; }

// No line of JSON begins with a backtick, so nothing inside can close the fence.
std::string fenced(std::string_view payload) {
  return fmt::format("```json\n{}{}```", payload, payload.ends_with('\n') ? "" : "\n");
}

// How many bytes the character that begins with this one has; 1 if none begins with it.
std::size_t length_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  return byte >= 0xC0 ? 2 : 1;
}

constexpr std::string_view kTag = "json";

// Of plain text that are taken at once.
constexpr std::size_t kLongestRun = std::size_t{64} << 10U;

// What a byte of plain text takes in a JSON string.
enum class Width : std::uint8_t { none, one, two, character };  // The first byte of a longer one.

class Widths {
 public:
  constexpr Widths() {
    for (std::size_t i = 0x20; i < 0x7F; ++i) widths_[i] = Width::one;
    for (std::size_t i = 0xC2; i < 0xF5; ++i) widths_[i] = Width::character;
    widths_['"'] = widths_['\\'] = widths_['\t'] = Width::two;
  }
  constexpr Width operator[](char c) const { return widths_[static_cast<unsigned char>(c)]; }

 private:
  std::array<Width, 256> widths_{};
};
constexpr Widths kWidths;

constexpr char kDelete = 0x7F;  // The one ASCII character that only some JSON escapes; ours does.

// Bytes that a character takes in a JSON string.
std::size_t escaped_size(std::string_view character) {
  constexpr std::size_t kUnicodeEscape = 6;
  switch (kWidths[character.front()]) {
    case Width::one: return 1;
    case Width::two: return 2;
    case Width::character: return character.size();
    case Width::none: break;
  }
  return ends_line(character.front()) ? 2 : kUnicodeEscape;
}

// Whole characters of one line that need no replacement, with its end, and the bytes that they take
// in a JSON string.
struct PlainRun {
  std::size_t size = 0;
  std::size_t escaped_size = 0;
};

PlainRun plain_run(std::string_view bytes) {
  constexpr std::size_t kGlance = 64;  // Bytes that are looked at together.
  PlainRun run;
  std::size_t escaped = 0;  // Characters that a backslash is put before.
  while (run.size < bytes.size()) {
    const std::string_view next = bytes.substr(run.size, kGlance);
    const std::string_view plain =
        next.substr(0, json::plain_run(next.data(), next.data() + next.size()));
    const std::size_t size = std::min(plain.find(kDelete), plain.size());
    run.size += size;
    if (size == next.size()) continue;
    const Width width = kWidths[bytes[run.size]];
    std::size_t length = width == Width::two ? 1 : 0;
    escaped += length;
    if (width == Width::character) length = read_code_point(bytes.substr(run.size)).length;
    if (length == 0) break;
    run.size += length;
  }
  if (run.size < bytes.size() && ends_line(bytes[run.size])) {
    ++run.size;
    ++escaped;
  }
  run.escaped_size = run.size + escaped;
  return run;
}

void tell(Sealed& sealed, bool happened, std::string_view rule, std::string_view warning) {
  if (!happened) return;
  sealed.notes.push_back({"sealed", fmt::format(R"({{"Rule":"{}"}})", rule)});
  if (!warning.empty()) sealed.user_warnings.emplace_back(warning);
}

}  // namespace

Sealed seal(std::string_view text) {
  Sealer sealer;
  std::string whole = sealer.feed(text);
  Sealed sealed = sealer.finish();
  whole += sealed.text;
  sealed.text = std::move(whole);
  return sealed;
}

std::string Sealer::feed(std::string_view piece) {
  made_.reserve(piece.size());
  if (bytes_.empty()) {
    bytes_ = piece.substr(feed_bytes(piece, false));
  } else {
    std::string joined = std::exchange(bytes_, {});
    joined += piece;
    bytes_ = joined.substr(feed_bytes(joined, false));
  }
  return give_whole();
}

Sealed Sealer::finish() {
  feed_bytes(std::exchange(bytes_, {}), true);
  if (!has_text_) {
    changes_.was_blank = true;
    return told(std::string(kNoAnswer));
  }
  if (place_ == Place::untagged_fence) {
    const bool is_closed = closes();
    if (!is_closed) {
      feed_body(closing_);
      closing_.clear();
    }
    end_fence();
  } else if (place_ == Place::outside) {
    made_ += info_;  // The line is a fence, tagged or empty.
    files_.finish(made_);
  }
  std::string out = give_whole();
  if (whole_.is_open()) return told(std::move(out));
  switch (whole_.verdict()) {
    case PayloadGate::Verdict::no_payload: return told(whole_.filtered());
    case PayloadGate::Verdict::filtered_is_payload:
      changes_.guarded = true;
      return told(fenced(whole_.filtered()));
    case PayloadGate::Verdict::raw_is_payload: break;
  }
  changes_.guarded = true;
  files_.set_removed(0);
  return told(fenced(whole_.raw()));
}

std::string Sealer::give_whole() {
  if (whole_.is_open()) return std::exchange(made_, {});
  std::string out;
  whole_.feed_filtered(std::exchange(made_, {}), out);
  return out;
}

Sealed Sealer::told(std::string text) const {
  Sealed sealed{.text = std::move(text)};
  tell(sealed, changes_.repaired, "JSON-01", "Bytes of the answer that are no text were replaced.");
  tell(sealed, changes_.cut, "JSON-03",
       "The answer was longer than 12 MiB, which is all that a response can carry, and was cut "
       "there. "
       "Ask for less at once.");
  tell(sealed, changes_.was_blank, "RES-10",
       "The model gave an empty answer. Ask again, or ask differently.");
  tell(sealed, changes_.guarded, "RES-30", "");  // Nothing of the answer was changed.
  tell(sealed, files_.removed() > 0, "RES-31",
       "The answer held the contents of a file, which were removed.");
  return sealed;
}

// --- Characters

// Returns how many bytes were taken: not the beginning of a character that has not come whole yet.
// Bytes that are not UTF-8 are replaced one by one, as repaired_utf8() does.
std::size_t Sealer::feed_bytes(std::string_view bytes, bool is_end) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    if (!whole_.is_open() && !whole_.may_be_raw()) {  // As early as it can be known.
      made_ = give_whole();
      if (whole_.is_open()) made_.reserve(rest.size());
    }
    if (const std::size_t size = feed_plain(rest); size > 0) {
      rest.remove_prefix(size);
      continue;
    }
    const CodePoint next = read_code_point(rest);
    if (next.length > 0) {
      feed_code_point(rest.substr(0, next.length));
      rest.remove_prefix(next.length);
      continue;
    }
    if (!is_end && rest.size() < length_of_character(rest.front())) break;
    changes_.repaired = true;
    feed_code_point(kReplacement);
    rest.remove_prefix(1);
  }
  return bytes.size() - rest.size();
}

// Takes the rest of a line at once, if it is ordinary text: what the other functions do with its
// characters one by one. Returns how many bytes it took; 0 if this is not the place, or the limit
// is near.
std::size_t Sealer::feed_plain(std::string_view bytes) {
  if (!has_text_ || changes_.cut || !is_line_of_text(bytes.front())) return 0;
  bytes = bytes.substr(0, kLongestRun);
  // Asked before the bytes are looked at: near the limit it is asked for every character.
  const std::size_t most = 2 * bytes.size() + EmbeddedFileFilter::most_added(bytes.size());
  if (size_ + files_.added() + most > kLongestText) return 0;
  const PlainRun run = plain_run(bytes);
  if (run.size == 0) return 0;
  size_ += run.escaped_size;
  const std::string_view text = bytes.substr(0, run.size);
  if (!whole_.is_open()) whole_.feed(text);
  switch (place_) {
    case Place::outside: files_.feed(text, made_); break;
    case Place::untagged_fence: feed_body(text); break;
    case Place::tagged_fence: made_ += text; break;
  }
  line_ = {};
  line_.is_text = !ends_line(text.back());
  return run.size;
}

// Whether the line is ordinary text when this is its next character.
bool Sealer::is_line_of_text(char next) const {
  const bool is_new = line_.indent == 0 && line_.character == 0;
  return line_.is_text || (is_new && !std::string_view(" `~\r\n").contains(next));
}

void Sealer::feed_code_point(std::string_view character) {
  const std::size_t size = escaped_size(character);
  if (changes_.cut || size_ + files_.added() + size > kLongestText) {
    changes_.cut = true;
    return;
  }
  size_ += size;
  if (has_text_) {
    for (const char c : character) feed_text(c);
    return;
  }
  blank_ += character;
  if (is_blank(character)) return;
  has_text_ = true;
  for (const char c : blank_) feed_text(c);
  blank_ = {};
}

void Sealer::feed_text(char c) {
  if (!whole_.is_open()) whole_.feed({&c, 1});
  switch (place_) {
    case Place::outside: feed_outside(c); break;
    case Place::untagged_fence: feed_untagged(c); break;
    case Place::tagged_fence:
      made_.push_back(c);
      extend(line_, c);
      if (!ends_line(c)) return;
      if (closes()) place_ = Place::outside;
      line_ = {};
      break;
  }
}

// --- Fences

void Sealer::extend(LineMark& mark, char c) {
  if (mark.is_text || ends_line(c)) return;
  if (mark.character == 0) {
    if (c == ' ' && mark.indent < kDeepestIndent) {
      ++mark.indent;
    } else if (c == '`' || c == '~') {
      mark.character = c;
      mark.length = 1;
    } else {
      mark.is_text = true;
    }
  } else if (c == mark.character && !mark.is_after) {
    ++mark.length;
  } else if (mark.length < kShortestFence || (c == '`' && mark.character == '`')) {
    mark.is_text = true;  // Too short; or a backtick after backticks, which makes it a code span.
  } else {
    mark.is_after = true;
    mark.has_info |= !trimmed({&c, 1}).empty();
  }
}

// Whether the line so far may be one that closes the fence.
bool Sealer::may_close() const {
  if (line_.is_text || line_.has_info) return false;
  if (line_.character == 0) return true;
  return line_.character == fence_.character && (!line_.is_after || line_.length >= fence_.length);
}

bool Sealer::closes() const {
  return may_close() && line_.character != 0 && line_.length >= fence_.length;
}

// Marks leave at once; what follows them is held until it is known what they are.
void Sealer::feed_outside(char c) {
  extend(line_, c);
  const bool may_open = !line_.is_text && line_.length >= kShortestFence;
  if (!may_open && !info_.empty()) {
    files_.feed(info_, made_);
    info_.clear();
  }
  if (may_open && ends_line(c)) return end_opening(c);
  if (may_open && line_.is_after) {
    info_.push_back(c);
    return;
  }
  files_.feed(c, made_);
  if (ends_line(c)) line_ = {};
}

void Sealer::end_opening(char c) {
  fence_ = std::exchange(line_, {});
  info_.push_back(c);
  if (fence_.has_info) {
    place_ = Place::tagged_fence;
    made_ += info_;
  } else {
    place_ = Place::untagged_fence;
    size_ += kTag.size();  // It may need one.
    opening_end_ = info_;
    body_ = {};
    removed_before_body_ = files_.removed();
  }
  info_.clear();
}

void Sealer::feed_untagged(char c) {
  extend(line_, c);
  if (!ends_line(c) && may_close()) {
    closing_.push_back(c);
    return;
  }
  if (ends_line(c) && closes()) {
    closing_.push_back(c);
    end_fence();
    line_ = {};
    return;
  }
  feed_body(closing_);
  closing_.clear();
  feed_body({&c, 1});
  if (ends_line(c)) line_ = {};
}

void Sealer::feed_body(std::string_view text) {
  if (body_.is_open()) return files_.feed(text, made_);
  body_.feed(text);
  std::string filtered;
  files_.feed(text, filtered);
  std::string out;
  body_.feed_filtered(filtered, out);
  if (body_.is_open()) made_.append(opening_end_).append(out);
}

// The body is complete; what closes it follows.
void Sealer::end_fence() {
  std::string rest;
  files_.finish(rest);
  if (!body_.is_open()) {
    std::string out;
    body_.feed_filtered(rest, out);
    if (body_.is_open()) made_.append(opening_end_).append(out);
    rest.clear();
  }
  made_ += rest;
  if (!body_.is_open()) {
    const PayloadGate::Verdict verdict = body_.verdict();
    const bool is_raw = verdict == PayloadGate::Verdict::raw_is_payload;
    if (is_raw) files_.set_removed(removed_before_body_);
    if (verdict != PayloadGate::Verdict::no_payload) {
      changes_.guarded = true;
      made_ += kTag;
    }
    made_.append(opening_end_).append(is_raw ? body_.raw() : body_.filtered());
  }
  made_ += closing_;
  closing_.clear();
  place_ = Place::outside;
}

}  // namespace treaty::turns
