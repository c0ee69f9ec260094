// The words of a text, for filters that judge each of them alone or in its sentence.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "treaty/base/text.h"

namespace treaty::contracts {

// Calls `test` with every run of word characters, until it is true of one.
template <class Test>
bool any_word(std::string_view text, Test test) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t size = run_length(text, at, is_word_character, text.size());
    if (size > 0 && test(text.substr(at, size))) return true;
    at += size;
  }
  return false;
}

inline constexpr std::size_t kLongestWord = 16;  // Of the lists that is_among() searches.

// Whether `word`, in any case, is one of `words`: in lower case and sorted.
inline bool is_among(std::span<const std::string_view> words, std::string_view word) {
  if (word.size() > kLongestWord) return false;
  std::array<char, kLongestWord> lower{};
  std::ranges::transform(word, lower.begin(), to_lower);
  return std::ranges::binary_search(words, std::string_view(lower.data(), word.size()));
}

// A sentence ends at a full stop, a question mark or an exclamation mark before a space, at a
// semicolon and at the end of a line.
inline bool ends_sentence(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\n' || c == ';') return true;
  const bool stop = c == '.' || c == '!' || c == '?';
  return stop && at + 1 < text.size() && text[at + 1] == ' ';
}

inline constexpr std::size_t kAhead = 9;   // Words of a sentence that are looked at after a place,
inline constexpr std::size_t kBehind = 7;  // and before it.
inline constexpr std::size_t kFar = 200;   // Characters that they may be away.

// The words of the sentence after `at`.
class WordsAfter {
 public:
  WordsAfter(std::string_view text, std::size_t at)
      : text_(text), at_(at), end_(std::min(text.size(), at + kFar)) {}

  // Empty at the end of the sentence.
  std::string_view next() {
    for (; at_ < end_ && !is_word_character(text_[at_]); ++at_) {
      if (ends_sentence(text_, at_)) at_ = end_ - 1;
    }
    if (at_ >= end_) return {};
    const std::size_t size = run_length(text_, at_, is_word_character);
    at_ += size;
    return text_.substr(at_ - size, size);
  }

 private:
  std::string_view text_;
  std::size_t at_;
  std::size_t end_;
};

// The words of the sentence before `at`, the nearest first.
class WordsBefore {
 public:
  WordsBefore(std::string_view text, std::size_t at) {
    const std::size_t least = at - std::min(at, kFar);
    while (at > least && count_ < kBehind) {
      if (!is_word_character(text[at - 1])) {
        if (ends_sentence(text, at - 1)) return;
        --at;
        continue;
      }
      const std::size_t end = at;
      while (at > least && is_word_character(text[at - 1])) --at;
      words_[count_++] = text.substr(at, end - at);
    }
  }

  // Empty when there is none.
  std::string_view operator[](std::size_t i) const {
    return i < count_ ? words_[i] : std::string_view();
  }

  bool any_of(std::span<const std::string_view> words, std::size_t from = 0) const {
    for (std::size_t i = from; i < count_; ++i) {
      if (is_among(words, words_[i])) return true;
    }
    return false;
  }

 private:
  std::array<std::string_view, kBehind> words_{};
  std::size_t count_ = 0;
};

// Whether one of `words` is in the sentence after `at`.
inline bool any_after(std::string_view text, std::size_t at,
                      std::span<const std::string_view> words) {
  WordsAfter sentence(text, at);
  for (std::size_t i = 0; i < kAhead; ++i) {
    const std::string_view word = sentence.next();
    if (word.empty()) return false;
    if (is_among(words, word)) return true;
  }
  return false;
}

}  // namespace treaty::contracts
