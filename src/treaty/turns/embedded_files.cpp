#include "treaty/turns/embedded_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "treaty/base/text.h"

namespace treaty::turns {
namespace {

// In backticks, so that a line with it never becomes the fence of a code block.
constexpr std::string_view kRemovedNote = "`[embedded file removed]`";

constexpr std::string_view kScheme = "data";
constexpr std::string_view kMarker = ";base64";
constexpr std::size_t kShortestFile = 1024;  // RES-31, padding included.
constexpr std::size_t kMostPadding = 2;

constexpr bool is_run_character(char c) { return is_alphanumeric(c) || c == '+' || c == '/'; }

// What a character may be the beginning of.
enum class Kind : std::uint8_t { other, run, scheme };

class Kinds {
 public:
  constexpr Kinds() {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const char c = static_cast<char>(i);
      if (is_run_character(c)) kinds_[i] = Kind::run;
      if (to_lower(c) == kScheme.front()) kinds_[i] = Kind::scheme;
    }
  }
  constexpr Kind operator[](char c) const { return kinds_[static_cast<unsigned char>(c)]; }

 private:
  std::array<Kind, 256> kinds_{};
};
constexpr Kinds kKinds;

bool is_body_character(char c) {
  return is_run_character(c) || c == '=' || c == '-' || c == '_' || c == '%';
}

bool ends_uri_head(char c) { return std::string_view(", \t\r\n()<>\"").contains(c); }

}  // namespace

void EmbeddedFileFilter::feed(std::string_view text, std::string& out) {
  while (!text.empty()) {
    std::size_t size = 0;
    if (state_ == State::text && scheme_ == 0 && held_.empty()) {
      size = plain_run(text);
      out += text.substr(0, size);
    } else if (state_ == State::uri_body) {
      size = run_length(text, 0, is_body_character, text.size());
    } else if (state_ == State::run_body && padding_ == 0) {
      size = run_length(text, 0, is_run_character, text.size());
    }
    text.remove_prefix(size);
    if (text.empty()) return;
    feed(text.front(), out);
    text.remove_prefix(1);
  }
}

void EmbeddedFileFilter::feed(char c, std::string& out) {
  switch (state_) {
    case State::text: return feed_text(c, out);
    case State::long_run: return feed_long_run(c, out);
    case State::uri_head: return feed_uri_head(c, out);
    case State::uri_body:
      if (!is_body_character(c)) continue_as_text(c, out);
      return;
    case State::run_body:
      if (c == '=' && padding_ < kMostPadding) {
        ++padding_;
      } else if (padding_ > 0 || !is_run_character(c)) {
        continue_as_text(c, out);
      }
      return;
  }
}

// A file has begun before, or it has all of `data:;base64,`.
std::size_t EmbeddedFileFilter::most_added(std::size_t fed) {
  constexpr std::size_t kShortestHead = kScheme.size() + 1 + kMarker.size() + 1;
  return (fed / kShortestHead + 1) * kRemovedNote.size();
}

void EmbeddedFileFilter::finish(std::string& out) {
  if (state_ == State::uri_head) replay_without_uri(out);
  release(out);
  state_ = State::text;
  run_ = padding_ = scheme_ = 0;
}

// How many characters from the beginning on are plain text, which passes as it is: no `data` begins
// there, and no run of base64 becomes a long one.
std::size_t EmbeddedFileFilter::plain_run(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    // Words and what is between them, each in a loop of its own: most of a text passes here.
    const std::size_t end = std::min(text.size(), size + kShownOfRun - run_);
    const std::size_t begin = size;
    while (size < end && kKinds[text[size]] == Kind::run) ++size;
    run_ += size - begin;
    if (size == text.size()) break;
    const Kind kind = kKinds[text[size]];
    if (kind == Kind::other) {
      run_ = 0;
      do ++size;
      while (size < text.size() && kKinds[text[size]] == Kind::other);
      continue;
    }
    if (run_ == kShownOfRun) break;
    const bool is_last = size + 1 == text.size();
    if (is_last || to_lower(text[size + 1]) == kScheme[1]) break;
    ++run_;  // A `d` that does not begin `data`.
    ++size;
  }
  return size;
}

void EmbeddedFileFilter::feed_text(char c, std::string& out) {
  if (c == ':' && scheme_ == kScheme.size() && looks_for_uris_) {
    colon_ = held_.size();
    held_.push_back(c);
    run_ = scheme_ = 0;
    state_ = State::uri_head;
    return;
  }
  match_scheme(c, out);
  run_ = is_run_character(c) ? run_ + 1 : 0;
  if (run_ > kShownOfRun) {
    release(out);
    held_.push_back(c);
    state_ = State::long_run;
  } else if (scheme_ > 0 && scheme_ == run_) {
    held_.push_back(c);  // The word is `data` so far.
  } else {
    out.push_back(c);
  }
}

void EmbeddedFileFilter::feed_long_run(char c, std::string& out) {
  const bool goes_on = padding_ == 0 && is_run_character(c);
  if (!goes_on && (c != '=' || padding_ == kMostPadding)) {
    release(out);
    if (padding_ > 0) run_ = scheme_ = 0;
    padding_ = 0;
    state_ = State::text;
    return feed_text(c, out);
  }
  held_.push_back(c);
  match_scheme(c, out);
  ++(goes_on ? run_ : padding_);
  if (run_ + padding_ >= kShortestFile) remove(State::run_body, out);
}

void EmbeddedFileFilter::feed_uri_head(char c, std::string& out) {
  if (!ends_uri_head(c)) {
    held_.push_back(c);
    return;
  }
  const std::string_view head = std::string_view(held_).substr(colon_);
  const bool is_file = c == ',' && head.size() > kMarker.size() &&
                       equal_folded(head.substr(head.size() - kMarker.size()), kMarker);
  if (is_file) return remove(State::uri_body, out);
  replay_without_uri(out);
  feed(c, out);
}

// No part of `data` but the whole begins it again.
void EmbeddedFileFilter::match_scheme(char c, std::string& out) {
  const char lower = to_lower(c);
  if (scheme_ < kScheme.size() && lower == kScheme[scheme_]) {
    ++scheme_;
    return;
  }
  scheme_ = lower == kScheme.front() ? 1 : 0;
  if (state_ == State::text) release(out);
}

void EmbeddedFileFilter::release(std::string& out) {
  out += held_;
  held_.clear();
}

void EmbeddedFileFilter::remove(State body, std::string& out) {
  held_.clear();
  out += kRemovedNote;
  ++removed_;
  added_ += kRemovedNote.size();
  scheme_ = 0;
  state_ = body;
}

void EmbeddedFileFilter::continue_as_text(char c, std::string& out) {
  run_ = padding_ = 0;
  state_ = State::text;
  feed_text(c, out);
}

// The word has no URI; it may have a long run.
void EmbeddedFileFilter::replay_without_uri(std::string& out) {
  const std::string word = std::exchange(held_, {});
  state_ = State::text;
  run_ = scheme_ = 0;
  looks_for_uris_ = false;
  feed(word, out);
  looks_for_uris_ = true;
  scheme_ = 0;
}

}  // namespace treaty::turns
