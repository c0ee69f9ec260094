#include "treaty/turns/seal.h"

#include <fmt/format.h>

#include <utility>

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

// Bytes that a character takes in a JSON string.
std::size_t escaped_size(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  constexpr std::size_t kUnicodeEscape = 6;
  if (std::string_view("\"\\\n\r\t").contains(character.front())) return 2;
  return first < 0x20 || first == 0x7F ? kUnicodeEscape : character.size();
}

constexpr std::string_view kTag = "json";

void tell(Sealed& sealed, bool happened, std::string_view rule, std::string_view warning) {
  if (!happened) return;
  sealed.notes.push_back({"sealed", fmt::format(R"({{"Rule":"{}"}})", rule)});
  if (!warning.empty()) sealed.user_warnings.emplace_back(warning);
}

}  // namespace

Sealed seal(std::string_view text) {
  Sealer sealer;
  std::string beginning = sealer.feed(text);
  Sealed sealed = sealer.finish();
  sealed.text.insert(0, beginning);
  return sealed;
}

std::string Sealer::feed(std::string_view piece) {
  bytes_ += piece;
  feed_bytes(false);
  std::string out;
  give_whole(out);
  return out;
}

Sealed Sealer::finish() {
  feed_bytes(true);
  if (!has_text_) {
    changes_.was_blank = true;
    return told(std::string(kNoAnswer));
  }
  if (place_ == Place::untagged_fence) {
    const bool is_closed = closes();
    if (!is_closed) {
      for (const char c : closing_) feed_body(c);
      closing_.clear();
    }
    end_fence();
  } else if (place_ == Place::outside) {
    made_ += info_;  // The line is a fence, tagged or empty.
    files_.finish(made_);
  }
  std::string out;
  give_whole(out);
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

void Sealer::give_whole(std::string& out) {
  if (whole_.is_open()) {
    out += made_;
  } else {
    whole_.feed_filtered(made_, out);
  }
  made_.clear();
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

// Bytes that are not UTF-8 are replaced one by one, as repaired_utf8() does.
void Sealer::feed_bytes(bool is_end) {
  std::string_view rest = bytes_;
  while (!rest.empty()) {
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
  bytes_.erase(0, bytes_.size() - rest.size());
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
  if (!whole_.is_open()) whole_.feed(c);
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
    for (const char held : info_) files_.feed(held, made_);
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
  for (const char held : closing_) feed_body(held);
  closing_.clear();
  feed_body(c);
  if (ends_line(c)) line_ = {};
}

void Sealer::feed_body(char c) {
  if (body_.is_open()) return files_.feed(c, made_);
  body_.feed(c);
  std::string filtered;
  files_.feed(c, filtered);
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
