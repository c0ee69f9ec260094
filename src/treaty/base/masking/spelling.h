// A text that stands in another one as it is, percent-encoded, or as JSON writes it. Pure.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace treaty {

// Strings of JSON inside strings of JSON that are looked into.
constexpr int kJsonLayers = 3;

// How far one text begins with another.
struct SpelledMatch {
  std::size_t size = 0;  // Bytes of the longest complete spelling; 0: none.
  bool is_open = false;  // The text ends within a spelling:
  std::size_t read = 0;  // this many bytes of the wanted text were found.
};

// Whether `text` begins with `wanted`, however it is spelled: every character may stand there as it
// is or as an escape of JSON (`\/`, `\u002f`, `\u002F`, two of them for a surrogate pair), also
// where the backslash is itself escaped; or every byte as it is or as `%2F`.
SpelledMatch match_spelled(std::string_view text, std::string_view wanted);

// The beginnings of texts in all their spellings: passes over most of a text at the first glance.
class SpelledBeginnings {
 public:
  // `wanted` has two bytes or more.
  void add(std::string_view wanted);

  // False: match_spelled() finds none of them at this place of the text.
  bool may_be_at(std::string_view text, std::size_t at) const {
    const auto first = static_cast<unsigned char>(text[at]);
    const bool may_be =
        at + 1 < text.size()
            ? pairs_[std::size_t{first} << 8U | static_cast<unsigned char>(text[at + 1])]
            : firsts_[first];
    return may_be && may_be_spelled(text.substr(at));
  }

 private:
  bool may_be_spelled(std::string_view text) const;
  bool may_be_escaped(std::string_view text) const;
  bool may_follow(unsigned char first, std::string_view text, std::size_t at) const;
  bool may_read(const auto& read) const;

  std::bitset<1U << 8U> starts_{};   // Bytes that a text begins with,
  std::bitset<1U << 16U> wanted_{};  // and pairs of them;
  std::bitset<1U << 8U> firsts_{};   // bytes that a spelling begins with,
  std::bitset<1U << 16U> pairs_{};   // and pairs of them.
};

}  // namespace treaty
