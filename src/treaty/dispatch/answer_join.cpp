#include "treaty/dispatch/answer_join.h"

#include <algorithm>
#include <utility>

namespace treaty::dispatch {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

// Bytes that have to be equal for a text whose white space differs to be the same text.
constexpr std::size_t kLeastWithGaps = 12;

// A continuation may begin as the whole text does, as the lines of a table do; hardly with so many
// equal bytes.
constexpr std::size_t kMostByAccident = 64;

bool is_white(char c) { return kWhiteSpace.contains(c); }

// Whether there was any.
bool pass_white_space(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_white(text[at])) ++at;
  return at > begin;
}

}  // namespace

AnswerJoin::AnswerJoin(std::string heard, Form form) : heard_(std::move(heard)), form_(form) {
  if (heard_.empty()) state_ = State::joined;
}

std::string AnswerJoin::feed(std::string_view delta) {
  if (state_ == State::joined) return std::string(delta);
  if (state_ == State::failed) return {};
  held_ += delta;
  if (state_ == State::undecided) form_ == Form::rest ? compare_rest() : compare_whole();
  if (state_ == State::seam) close_seam(false);
  return state_ == State::joined ? std::exchange(held_, {}) : std::string();
}

std::optional<std::string> AnswerJoin::finish() {
  if (state_ == State::failed || (state_ == State::undecided && form_ == Form::whole)) {
    return std::nullopt;
  }
  if (state_ == State::undecided) note_difference();  // It ends before it has repeated everything.
  if (state_ == State::failed) return std::nullopt;
  if (state_ == State::seam) close_seam(true);
  return std::exchange(held_, {});
}

// Undecided as long as what came may be the beginning of a repetition.
void AnswerJoin::compare_rest() {
  while (true) {
    heard_gap_ |= pass_white_space(heard_, at_heard_);
    if (at_heard_ == heard_.size()) {
      if (gaps_differ_ && equal_ < kLeastWithGaps) return note_difference();
      held_.erase(0, at_held_);  // All of it was repeated.
      state_ = State::seam;
      return;
    }
    held_gap_ |= pass_white_space(held_, at_held_);
    if (at_held_ == held_.size()) return;
    if (heard_[at_heard_] != held_[at_held_]) return note_difference();
    gaps_differ_ |= equal_ > 0 && heard_gap_ != held_gap_;
    heard_gap_ = held_gap_ = false;
    ++at_heard_;
    ++at_held_;
    ++equal_;
  }
}

// A continuation, all of which is new, or another answer that begins like the first one.
void AnswerJoin::note_difference() {
  state_ = equal_ < kMostByAccident || is_pattern() ? State::seam : State::failed;
  if (state_ == State::failed) held_ = {};
}

// The equal part is what lines of this text begin with: it has come more than once, or it is part
// of one line, and the next line is due.
bool AnswerJoin::is_pattern() const {
  const std::string_view equal = std::string_view(heard_).substr(0, at_heard_);
  if (heard_.find(equal, 1) != std::string::npos) return true;
  return heard_.ends_with('\n') && !equal.contains('\n');
}

void AnswerJoin::compare_whole() {
  const std::size_t most = std::min(heard_.size(), held_.size());
  const auto differs = std::mismatch(held_.begin() + static_cast<std::ptrdiff_t>(at_held_),
                                     held_.begin() + static_cast<std::ptrdiff_t>(most),
                                     heard_.begin() + static_cast<std::ptrdiff_t>(at_held_));
  at_held_ = static_cast<std::size_t>(differs.first - held_.begin());
  if (at_held_ < most) {
    state_ = State::failed;
    held_ = {};
  } else if (at_held_ == heard_.size()) {
    held_.erase(0, at_held_);
    state_ = State::joined;
  }
}

// Providers do not take a last message that ends in white space, so it was not sent, and what
// follows may begin with it again. Other white space is new.
void AnswerJoin::close_seam(bool is_end) {
  std::size_t white = 0;
  pass_white_space(held_, white);
  if (white == held_.size() && !is_end) return;
  const std::size_t last = heard_.find_last_not_of(kWhiteSpace);
  const std::string_view before =
      std::string_view(heard_).substr(last == std::string::npos ? 0 : last + 1);
  const std::string_view after = std::string_view(held_).substr(0, white);
  if (after.starts_with(before)) {
    held_.erase(0, before.size());
  } else if (before.starts_with(after)) {
    held_.erase(0, white);
  }
  state_ = State::joined;
}

}  // namespace treaty::dispatch
