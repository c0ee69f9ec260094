#include "treaty/base/masking/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "treaty/base/json/scan.h"
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

template <int Layers>
Read read_json(std::string_view text, std::size_t at);

int hex_value(const Character& character) {
  return character.code < 128 ? hex_digit(static_cast<char>(character.code)) : -1;
}

// The unit of UTF-16 in the escape that begins with the character `first`, a backslash, when `u`
// and four digits follow; else `first`.
template <int Layers>
Read read_unit(std::string_view text, const Character& first) {
  Read next = read_json<Layers>(text, first.end);
  if (!next) return std::nullopt;
  if (next->code != 'u') return first;
  char32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    next = read_json<Layers>(text, next->end);
    if (!next) return std::nullopt;
    const int digit = hex_value(*next);
    if (digit < 0) return first;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return Character{code, false, next->end};
}

// The second half of a surrogate pair, when it follows `high`; else `high`.
template <int Layers>
Read read_pair(std::string_view text, const Character& high) {
  const Read backslash = read_json<Layers>(text, high.end);
  if (!backslash) return std::nullopt;
  if (backslash->code != '\\') return high;
  const Read low = read_unit<Layers>(text, *backslash);
  if (!low) return std::nullopt;
  if (!json::is_low_surrogate(low->code)) return high;
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

// The unit that four digits at `at` make; nothing if these are no digits.
std::optional<char32_t> unit_at(std::string_view text, std::size_t at) {
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  int code = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_digit(text[at + i]);
    if (digit < 0) return std::nullopt;
    code = code * 16 + digit;
  }
  return static_cast<char32_t>(code);
}

// The character of an escape with four digits that means the same in every layer: it is neither a
// backslash nor half of a pair.
Read read_plain_unit(std::string_view text, std::size_t at) {
  if (!text.substr(at + 1).starts_with('u')) return std::nullopt;
  const auto unit = unit_at(text, at + 2);
  if (!unit || *unit == '\\' || json::is_high_surrogate(*unit)) return std::nullopt;
  return Character{*unit, false, at + 6};
}

// The character at `at` of a string of JSON inside `Layers` - 1 others. A backslash that begins no
// escape is itself. What most texts have is read without a look at the layers below.
template <int Layers>
Read read_json(std::string_view text, std::size_t at) {
  if constexpr (Layers == 0) {
    return read_byte(text, at);
  } else {
    if (at >= text.size() || text[at] != '\\') return read_byte(text, at);
    if (const Read unit = read_plain_unit(text, at)) return unit;
    const Read first = read_json<Layers - 1>(text, at);
    if (!first || first->code != '\\') return first;
    const Read letter = read_json<Layers - 1>(text, first->end);
    if (!letter) return std::nullopt;
    if (const char32_t meant = short_escape(letter->code)) {
      return Character{meant, false, letter->end};
    }
    const Read unit = read_unit<Layers - 1>(text, *first);
    if (!unit || !json::is_high_surrogate(unit->code)) return unit;
    return read_pair<Layers - 1>(text, *unit);
  }
}

// What a backslash and all that belongs to it can mean, each in some layer. A backslash is always
// one of the meanings.
struct Meanings {
  bool is_known = false;   // Else it takes a closer look.
  char32_t code = '\\';    // Another one,
  char32_t escape = '\\';  // and what that one means after a backslash.
  std::size_t end = 0;     // Where the next character begins after one of these two.
};

// Backslashes come one after the other, each as it is or as `u005c` after another one. So many of
// them are a backslash in every layer. Otherwise the character that follows them decides.
Meanings meanings_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kRun = R"(\\\\\\\\)";
  static_assert(kRun.size() == 1U << kJsonLayers);
  if (text.substr(at).starts_with(kRun)) return {.is_known = true};
  for (std::size_t count = 0; count < kRun.size(); ++count) {
    if (at >= text.size()) return {};
    if (text[at] == '\\') {
      ++at;
      continue;
    }
    if (text[at] != 'u') {
      const char32_t meant = short_escape(static_cast<unsigned char>(text[at]));
      if (meant == 0) return {.is_known = true};
      return {.is_known = true, .code = meant, .escape = meant, .end = at + 1};
    }
    const auto unit = unit_at(text, at + 1);
    // Digits that are escapes themselves, a text that ends here, an escaped `u`, half of a pair.
    if (!unit || *unit == 'u' || json::is_high_surrogate(*unit)) return {};
    at += 5;
    if (*unit == '\\') continue;
    const char32_t meant = short_escape(*unit);
    return {.is_known = true, .code = *unit, .escape = meant == 0 ? *unit : meant, .end = at};
  }
  return {.is_known = true};
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

// One way to read the text. True when it has read a backslash: only then other layers of JSON may
// read it in another way.
bool match(SpelledMatch& found, std::string_view wanted, const auto& read) {
  std::string_view rest = wanted;
  std::size_t at = 0;
  bool has_backslash = false;
  while (!rest.empty()) {
    const Read character = read(at);
    if (!character) {
      found.is_open = true;
      found.read = std::max(found.read, wanted.size() - rest.size());
      return has_backslash;
    }
    has_backslash = has_backslash || character->code == '\\';
    if (!take(rest, *character)) return has_backslash;
    at = character->end;
  }
  found.size = std::max(found.size, at);
  return has_backslash;
}

template <int Layers = 1>
void match_json(SpelledMatch& found, std::string_view text, std::string_view wanted) {
  const bool may_differ =
      match(found, wanted, [&](std::size_t at) { return read_json<Layers>(text, at); });
  if constexpr (Layers < kJsonLayers) {
    if (may_differ) match_json<Layers + 1>(found, text, wanted);
  }
}

// The first byte of the character in UTF-8.
unsigned char first_byte(const Character& character) {
  if (character.is_byte || character.code < 128) [[likely]] {
    return static_cast<unsigned char>(character.code);
  }
  std::string utf8;
  append_utf8(utf8, character.code);
  return static_cast<unsigned char>(utf8[0]);
}

constexpr std::size_t pair_of(unsigned char first, unsigned char second) {
  return static_cast<std::size_t>(first) << 8U | second;
}

// What follows the backslash where JSON escapes `c`: a letter of its own if it has one, `u`, or
// another backslash, which is escaped itself.
std::string escapes_of(char c) {
  std::string escapes = "u\\";
  constexpr std::string_view kMeant = "/\"\b\f\n\r\t";
  constexpr std::string_view kLetters = "/\"bfnrt";
  if (const std::size_t place = kMeant.find(c); place != kMeant.npos) escapes += kLetters[place];
  return escapes;
}

}  // namespace

void SpelledBeginnings::add(std::string_view wanted) {
  const auto byte = static_cast<unsigned char>(wanted[0]);
  const auto add_pair = [&](char first, char second) {
    firsts_.set(static_cast<unsigned char>(first));
    pairs_.set(pair_of(static_cast<unsigned char>(first), static_cast<unsigned char>(second)));
  };
  starts_.set(byte);
  wanted_.set(pair_of(byte, static_cast<unsigned char>(wanted[1])));
  for (const char second : {wanted[1], '\\', '%'}) add_pair(wanted[0], second);
  for (const char escape : escapes_of(wanted[0])) add_pair('\\', escape);
  for (const auto& hex : {fmt::format("{:02x}", byte), fmt::format("{:02X}", byte)}) {
    add_pair('%', hex[0]);
  }
}

// By the first two characters, read in one way.
bool SpelledBeginnings::may_read(const auto& read) const {
  const Read first = read(0);
  if (!first) return true;
  const unsigned char byte = first_byte(*first);
  if (!starts_[byte]) return false;
  if (!first->is_byte && first->code >= 128) return true;
  const Read second = read(first->end);
  return !second || wanted_[pair_of(byte, first_byte(*second))];
}

// By the characters that an escape can mean in some layer, without a look at the layers.
bool SpelledBeginnings::may_be_escaped(std::string_view text) const {
  const Meanings first = meanings_at(text, 0);
  if (!first.is_known || starts_['\\']) return true;
  const auto may_be = [&](char32_t code) {
    const unsigned char byte = first_byte({.code = code});
    return starts_[byte] && (code >= 128 || may_follow(byte, text, first.end));
  };
  return may_be(first.code) || (first.escape != first.code && may_be(first.escape));
}

// Whether what is at `at`, read as JSON, may be the second byte after this first one.
bool SpelledBeginnings::may_follow(unsigned char first, std::string_view text,
                                   std::size_t at) const {
  if (at >= text.size()) return true;
  const auto byte = static_cast<unsigned char>(text[at]);
  if (wanted_[pair_of(first, byte)]) return true;
  if (byte != '\\') return false;
  const Meanings second = meanings_at(text, at);
  return !second.is_known || wanted_[pair_of(first, first_byte({.code = second.code}))] ||
         wanted_[pair_of(first, first_byte({.code = second.escape}))];
}

bool SpelledBeginnings::may_be_spelled(std::string_view text) const {
  const auto first = static_cast<unsigned char>(text[0]);
  if (text.size() == 1 || wanted_[pair_of(first, static_cast<unsigned char>(text[1]))]) return true;
  if (first == '\\') return may_be_escaped(text);
  if (text[1] == '\\') return may_follow(first, text, 1);
  return may_read([&](std::size_t at) { return read_percent(text, at); });
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
  if (seen.contains('\\')) match_json(found, text, wanted);
  if (seen.contains('%')) {
    match(found, wanted, [&](std::size_t at) { return read_percent(text, at); });
  }
  return found;
}

}  // namespace treaty
