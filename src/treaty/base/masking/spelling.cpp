#include "treaty/base/masking/spelling.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "treaty/base/percent.h"
#include "treaty/base/text.h"

namespace treaty {
namespace {

struct Character {
  char32_t code = 0;
  bool is_byte = false;  // `code` is a byte of UTF-8.
  std::size_t end = 0;   // Where the next one begins.
};

// Nothing: the text ends before it is known which character it is.
using Read = std::optional<Character>;

Read read_byte(std::string_view text, std::size_t at) {
  if (at >= text.size()) return std::nullopt;
  return Character{static_cast<unsigned char>(text[at]), true, at + 1};
}

Read read_percent(std::string_view text, std::size_t at) {
  const Read itself = read_byte(text, at);
  if (!itself || itself->code != '%') return itself;
  char32_t code = 0;
  for (std::size_t i = 1; i <= 2; ++i) {
    if (at + i >= text.size()) return std::nullopt;
    const int digit = hex_digit(text[at + i]);
    if (digit < 0) return itself;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return Character{code, true, at + 3};
}

Read read_json(std::string_view text, std::size_t at, int layers);

int hex_value(const Character& character) {
  return character.code < 128 ? hex_digit(static_cast<char>(character.code)) : -1;
}

// The unit of UTF-16 in the escape that begins with the character `first`, a backslash, when `u`
// and four digits follow; else `first`.
Read read_unit(std::string_view text, const Character& first, int layers) {
  Read next = read_json(text, first.end, layers);
  if (!next) return std::nullopt;
  if (next->code != 'u') return first;
  char32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    next = read_json(text, next->end, layers);
    if (!next) return std::nullopt;
    const int digit = hex_value(*next);
    if (digit < 0) return first;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return Character{code, false, next->end};
}

// The second half of a surrogate pair, when it follows `high`; else `high`.
Read read_pair(std::string_view text, const Character& high, int layers) {
  const Read backslash = read_json(text, high.end, layers);
  if (!backslash) return std::nullopt;
  if (backslash->code != '\\') return high;
  const Read low = read_unit(text, *backslash, layers);
  if (!low) return std::nullopt;
  if (low->code < 0xDC00 || low->code > 0xDFFF) return high;
  return Character{0x10000 + ((high.code - 0xD800) << 10U) + (low->code - 0xDC00), false, low->end};
}

// What a backslash and this letter mean in JSON; 0: nothing.
char32_t short_escape(char32_t letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

// The character at `at` of a string of JSON inside `layers` - 1 others. A backslash that begins no
// escape is itself.
Read read_json(std::string_view text, std::size_t at, int layers) {
  if (layers == 0) return read_byte(text, at);
  const Read first = read_json(text, at, layers - 1);
  if (!first || first->code != '\\') return first;
  const Read letter = read_json(text, first->end, layers - 1);
  if (!letter) return std::nullopt;
  if (const char32_t meant = short_escape(letter->code)) {
    return Character{meant, false, letter->end};
  }
  const Read unit = read_unit(text, *first, layers - 1);
  if (!unit || unit->code < 0xD800 || unit->code > 0xDBFF) return unit;
  return read_pair(text, *unit, layers - 1);
}

bool take(std::string_view& wanted, const Character& character) {
  if (character.is_byte || character.code < 128) {
    if (static_cast<unsigned char>(wanted.front()) != character.code) return false;
    wanted.remove_prefix(1);
    return true;
  }
  std::string utf8;
  append_utf8(utf8, character.code);
  if (!wanted.starts_with(utf8)) return false;
  wanted.remove_prefix(utf8.size());
  return true;
}

// One way to read the text.
void match(SpelledMatch& found, std::string_view wanted, const auto& read) {
  std::string_view rest = wanted;
  std::size_t at = 0;
  while (!rest.empty()) {
    const Read character = read(at);
    if (!character) {
      found.is_open = true;
      found.read = std::max(found.read, wanted.size() - rest.size());
      return;
    }
    if (!take(rest, *character)) return;
    at = character->end;
  }
  found.size = std::max(found.size, at);
}

}  // namespace

bool may_begin_escaped(std::string_view text, const Bytes& bytes) {
  if (bytes['\\']) return true;
  // So many are a backslash in every layer: a long run of them costs little.
  constexpr std::string_view kRun = R"(\\\\\\\\)";
  static_assert(kRun.size() == 1U << kJsonLayers);
  if (text.starts_with(kRun)) return false;
  for (int layers = 1; layers <= kJsonLayers; ++layers) {
    const Read first = read_json(text, 0, layers);
    if (!first) return true;
    std::string utf8;
    append_utf8(utf8, first->code);
    if (bytes[static_cast<unsigned char>(utf8[0])]) return true;
    if (first->code != '\\') return false;  // The other layers read the same.
  }
  return false;
}

SpelledMatch match_spelled(std::string_view text, std::string_view wanted) {
  SpelledMatch found;
  const auto [end, differs] = std::ranges::mismatch(text, wanted);
  if (differs == wanted.end()) {
    found.size = wanted.size();
  } else if (end == text.end()) {
    found = {.is_open = true, .read = text.size()};
  }
  // Other ways to read it differ from the first escape on.
  const std::size_t same = static_cast<std::size_t>(end - text.begin());
  const std::string_view seen = text.substr(0, same + 1);
  if (seen.contains('\\')) {
    for (int layers = 1; layers <= kJsonLayers; ++layers) {
      match(found, wanted, [&](std::size_t at) { return read_json(text, at, layers); });
    }
  }
  if (seen.contains('%')) {
    match(found, wanted, [&](std::size_t at) { return read_percent(text, at); });
  }
  return found;
}

}  // namespace treaty
