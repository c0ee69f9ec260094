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
  std::size_t size = 0;  // Of its longest whole spelling; 0: there is none.
  bool is_open = false;  // The text ends within a spelling:
  std::size_t read = 0;  // so many bytes of what was looked for are there.
};

// Whether `text` begins with `wanted`, however it is spelled: every character may stand there as it
// is or as an escape of JSON (`\/`, `\u002f`, `\u002F`, two of them for a surrogate pair), also
// where the backslash is itself escaped; or every byte as it is or as `%2F`.
SpelledMatch match_spelled(std::string_view text, std::string_view wanted);

using Bytes = std::bitset<1U << 8U>;

// A quick first glance at a text that begins with a backslash: false when match_spelled() finds
// nothing that begins with one of `bytes`.
bool may_begin_escaped(std::string_view text, const Bytes& bytes);

}  // namespace treaty
