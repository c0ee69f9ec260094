#include "treaty/turns/payload_gate.h"

#include <array>

#include "treaty/base/text.h"
#include "treaty/contracts/text/guarded_text.h"

namespace treaty::turns {
namespace {

bool is_space(char c) { return std::string_view(" \t\n\r\f\v").contains(c); }

constexpr std::array<std::string_view, 3> kWords = {"true", "false", "null"};

}  // namespace

void PayloadPrefix::feed(char c) {
  if (!is_possible()) return;
  switch (within_) {
    case Within::structure: return feed_structure(c);
    case Within::escape: within_ = Within::string; return;
    case Within::word: return feed_word(c);
    case Within::number:
      if (is_digit(c) || std::string_view("+-.eE").contains(c)) return;
      within_ = Within::structure;
      return feed_structure(c);
    case Within::string:
      if (c == '\\') within_ = Within::escape;
      if (static_cast<unsigned char>(c) < 0x20) next_ = Next::impossible;
      if (c == '"') within_ = Within::structure;  // next_ is what follows it.
      return;
  }
}

void PayloadPrefix::feed_word(char c) {
  if (!word_.starts_with(c)) {
    next_ = Next::impossible;
    return;
  }
  word_.remove_prefix(1);
  if (word_.empty()) within_ = Within::structure;
}

void PayloadPrefix::feed_structure(char c) {
  if (is_space(c)) return;
  switch (next_) {
    case Next::opening: return open(c);
    case Next::value: return begin_value(c);
    case Next::value_or_end: return c == ']' ? close(c) : begin_value(c);
    case Next::name_or_end:
      if (c == '}') return close(c);
      [[fallthrough]];
    case Next::name:
      next_ = c == '"' ? Next::colon : Next::impossible;
      within_ = Within::string;
      return;
    case Next::colon: next_ = c == ':' ? Next::value : Next::impossible; return;
    case Next::comma_or_end:
      if (c != ',') return close(c);
      next_ = open_.back() == '{' ? Next::name : Next::value;
      return;
    case Next::nothing:
    case Next::impossible: next_ = Next::impossible; return;
  }
}

void PayloadPrefix::open(char c) {
  if (c != '{' && c != '[') {
    next_ = Next::impossible;
    return;
  }
  open_.push_back(c);
  next_ = c == '{' ? Next::name_or_end : Next::value_or_end;
}

void PayloadPrefix::close(char c) {
  if (c != (open_.back() == '{' ? '}' : ']')) {
    next_ = Next::impossible;
    return;
  }
  open_.pop_back();
  end_value();
}

void PayloadPrefix::begin_value(char c) {
  if (c == '{' || c == '[') return open(c);
  end_value();
  if (c == '"') {
    within_ = Within::string;
  } else if (c == '-' || is_digit(c)) {
    within_ = Within::number;
  } else {
    within_ = Within::word;
    word_ = {};
    for (const std::string_view word : kWords) {
      if (word.starts_with(c)) word_ = word;
    }
    feed_word(c);
  }
}

void PayloadGate::feed_filtered(std::string_view text, std::string& out) {
  filtered_prefix_.feed(text);
  filtered_ += text;
  if (raw_prefix_.is_possible() || filtered_prefix_.is_possible()) return;
  is_open_ = true;
  out += filtered_;
  raw_ = {};
  filtered_ = {};
}

PayloadGate::Verdict PayloadGate::verdict() const {
  if (contracts::is_payload(raw_)) return Verdict::raw_is_payload;
  if (contracts::is_payload(filtered_)) return Verdict::filtered_is_payload;
  return Verdict::no_payload;
}

}  // namespace treaty::turns
