// Reads the text of a regular expression into a tree.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "treaty/base/json/scan.h"
#include "treaty/base/percent.h"
#include "treaty/base/schema/pattern.h"
#include "treaty/base/text.h"

namespace treaty::schema {
namespace {

using Kind = PatternTree::Kind;
using Part = PatternTree::Part;

constexpr std::size_t kLongestPattern = 4096;
constexpr int kDeepestGroup = 64;
constexpr char32_t kLastCharacter = 0x10FFFF;
constexpr std::uint32_t kMostRepetitions = 1000;

CharacterSet digits() { return {{'0', '9'}}; }

CharacterSet word_characters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }

// ECMA-262's WhiteSpace and LineTerminator.
CharacterSet white_space() {
  return {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

CharacterSet complement(const CharacterSet& set) {
  CharacterSet others;
  char32_t next = 0;
  for (const auto [first, last] : set) {
    if (first > next) others.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kLastCharacter) others.push_back({next, kLastCharacter});
  return others;
}

// The ranges in order and joined, and all other characters when `negated`.
CharacterSet normalized(CharacterSet set, bool negated) {
  std::ranges::sort(set, {}, &CharacterRange::first);
  CharacterSet joined;
  for (const auto range : set) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return negated ? complement(joined) : joined;
}

// `.`: everything but the ends of lines.
CharacterSet any_character() { return complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

// Of the letter after a backslash: d, D, w, W, s, S.
std::optional<CharacterSet> class_of(char32_t letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return complement(digits());
    case 'w': return word_characters();
    case 'W': return complement(word_characters());
    case 's': return white_space();
    case 'S': return complement(white_space());
    default: return std::nullopt;
  }
}

// Recursive descent. The first fault ends it: from then on every step gives up at once.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : rest_(pattern) {}

  std::expected<PatternTree, std::string> read() {
    if (rest_.size() > kLongestPattern) {
      return std::unexpected(fmt::format("is longer than {} bytes", kLongestPattern));
    }
    tree_.root = choice();
    if (fault_.empty() && !rest_.empty()) fail("has a `)` without its `(`");
    if (!fault_.empty()) return std::unexpected(std::move(fault_));
    return std::move(tree_);
  }

 private:
  void fail(std::string message) {
    if (fault_.empty()) fault_ = std::move(message);
    rest_ = {};
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  char32_t next() {
    const CodePoint point = read_code_point(rest_);
    if (point.length == 0) {
      fail("ends too early");
      return 0;
    }
    rest_.remove_prefix(point.length);
    return point.value;
  }

  std::uint32_t add(Part part) {
    tree_.parts.push_back(std::move(part));
    return static_cast<std::uint32_t>(tree_.parts.size() - 1);
  }

  std::uint32_t add_characters(CharacterSet set) {
    return add({.kind = Kind::character, .set = std::move(set)});
  }

  std::uint32_t choice() {
    if (++depth_ > kDeepestGroup) fail("nests groups too deep");
    Part part{.kind = Kind::choice};
    do part.children.push_back(sequence());
    while (take("|"));
    --depth_;
    return part.children.size() == 1 ? part.children[0] : add(std::move(part));
  }

  std::uint32_t sequence() {
    Part part{.kind = Kind::sequence};
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') part.children.push_back(term());
    return part.children.size() == 1 ? part.children[0] : add(std::move(part));
  }

  std::uint32_t term() {
    if (take("^")) return assertion(Kind::text_begin);
    if (take("$")) return assertion(Kind::text_end);
    if (take("\\b")) return assertion(Kind::word_boundary);
    if (take("\\B")) return assertion(Kind::inside_word);
    return repeated(atom());
  }

  std::uint32_t assertion(Kind kind) {
    if (!rest_.empty() && std::string_view("*+?{").contains(rest_[0])) {
      fail("repeats an anchor");
    }
    return add({.kind = kind});
  }

  std::uint32_t atom() {
    if (take("(")) return group();
    if (take("[")) return add_characters(bracket_class());
    if (take(".")) return add_characters(any_character());
    if (take("\\")) {
      const char32_t letter = read_code_point(rest_).value;
      if (auto named = class_of(letter)) {
        next();
        return add_characters(std::move(*named));
      }
      const char32_t character = escaped();
      return add_characters({{character, character}});
    }
    const char32_t character = next();
    if (character == '*' || character == '+' || character == '?') fail("repeats nothing");
    if (character == '{' || character == '}' || character == ']') {
      fail(fmt::format("has a bare `{0}`; write \\{0}", static_cast<char>(character)));
    }
    return add_characters({{character, character}});
  }

  std::uint32_t group() {
    if (rest_.starts_with("?=") || rest_.starts_with("?!")) {
      fail("uses lookahead, which is not supported");
    } else if (rest_.starts_with("?<=") || rest_.starts_with("?<!")) {
      fail("uses lookbehind, which is not supported");
    } else if (take("?<")) {
      group_name();
    } else if (rest_.starts_with("?") && !take("?:")) {
      fail("has a group of an unknown kind");
    }
    const std::uint32_t inside = choice();
    if (!take(")")) fail("has a `(` without its `)`");
    return inside;
  }

  // Nobody refers to it, so all that counts is that it is one.
  void group_name() {
    const std::size_t end = rest_.find('>');
    const std::string_view name = rest_.substr(0, end);
    if (end == std::string_view::npos || name.empty() || is_digit(name[0]) ||
        run_length(name, 0, is_word_character) != name.size()) {
      return fail("has a group whose name is not made of letters, digits and _");
    }
    rest_.remove_prefix(end + 1);
  }

  std::uint32_t repeated(std::uint32_t child) {
    Part part{.kind = Kind::repetition, .children = {child}};
    if (take("*")) {
      part.most = PatternTree::kEndless;
    } else if (take("+")) {
      part.least = 1, part.most = PatternTree::kEndless;
    } else if (take("?")) {
      part.most = 1;
    } else if (take("{")) {
      bounds(part);
    } else {
      return child;
    }
    take("?");  // Whether it takes few or many makes no difference to whether it matches.
    if (!rest_.empty() && std::string_view("*+?{").contains(rest_[0])) {
      fail("repeats a repetition; put it into (?:…)");
    }
    return add(std::move(part));
  }

  void bounds(Part& part) {
    part.least = part.most = bound();
    if (take(",")) part.most = rest_.starts_with('}') ? PatternTree::kEndless : bound();
    if (!take("}")) return fail("has a bare `{`; write \\{");
    if (part.most < part.least) fail("has a repetition whose bounds are in the wrong order");
  }

  std::uint32_t bound() {
    if (rest_.empty() || !is_digit(rest_[0])) {
      fail("has a bare `{`; write \\{");
      return 0;
    }
    std::uint32_t value = 0;
    while (!rest_.empty() && is_digit(rest_[0])) {
      value = value * 10 + static_cast<std::uint32_t>(rest_[0] - '0');
      rest_.remove_prefix(1);
      if (value > kMostRepetitions) {
        fail(fmt::format("repeats something more than {} times", kMostRepetitions));
        return 0;
      }
    }
    return value;
  }

  CharacterSet bracket_class() {
    const bool negated = take("^");
    CharacterSet set;
    while (!take("]")) {
      if (rest_.empty()) {
        fail("has a `[` without its `]`");
        return {};
      }
      const auto first = class_atom(set);
      if (!rest_.starts_with('-') || rest_.starts_with("-]")) {
        if (first) set.push_back({*first, *first});
        continue;
      }
      take("-");
      const auto last = class_atom(set);
      if (!first || !last || *last < *first) {
        fail("has a range of characters that is none; write \\- for a dash");
        return {};
      }
      set.push_back({*first, *last});
    }
    return normalized(std::move(set), negated);
  }

  // One character; or nothing, when it was the name of a class, which is added to `set`.
  std::optional<char32_t> class_atom(CharacterSet& set) {
    if (!take("\\")) return next();
    if (const auto named = class_of(read_code_point(rest_).value)) {
      next();
      set.insert(set.end(), named->begin(), named->end());
      return std::nullopt;
    }
    if (take("b")) return U'\b';
    return escaped();
  }

  // The one character that stands behind a backslash.
  char32_t escaped() {
    const char32_t letter = next();
    switch (letter) {
      case 't': return '\t';
      case 'n': return '\n';
      case 'v': return '\v';
      case 'f': return '\f';
      case 'r': return '\r';
      case 'x': return hexadecimal(2);
      case 'u': return unicode_escape();
      case 'c': return control();
      case 'p':
      case 'P': fail("uses \\p, which is not supported; write the ranges"); return 0;
      default: break;
    }
    if (letter == '0' && (rest_.empty() || !is_digit(rest_[0]))) return 0;
    const auto ascii = static_cast<char>(letter < 0x80 ? letter : 'x');
    if (is_digit(ascii) || letter == 'k') {
      fail("refers back to a group, which is not supported");
    } else if (is_alphanumeric(ascii)) {
      fail("has a backslash before a letter where it means nothing");
    }
    return letter;
  }

  char32_t control() {
    if (rest_.empty() || !is_letter(rest_[0])) {
      fail("has \\c without its letter");
      return 0;
    }
    return next() % 32;
  }

  char32_t hexadecimal(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = rest_.empty() ? -1 : hex_digit(rest_[0]);
      if (digit < 0) {
        fail("has an escape with too few hexadecimal digits");
        return 0;
      }
      value = value * 16 + static_cast<char32_t>(digit);
      rest_.remove_prefix(1);
    }
    return value;
  }

  char32_t unicode_escape() {
    if (take("{")) {
      char32_t value = 0;
      do value = value * 16 + hexadecimal(1);
      while (value <= kLastCharacter && !rest_.empty() && !rest_.starts_with('}'));
      if (value > kLastCharacter || !take("}")) fail("has a \\u{…} that is no character");
      return value;
    }
    const char32_t value = hexadecimal(4);
    if (!json::is_high_surrogate(value) || !rest_.starts_with("\\u")) return value;
    take("\\u");
    const char32_t low = hexadecimal(4);
    if (!json::is_low_surrogate(low)) fail("has half of a surrogate pair");
    return 0x10000 + ((value - 0xD800) << 10U) + (low - 0xDC00);
  }

  std::string_view rest_;
  PatternTree tree_;
  std::string fault_;
  int depth_ = 0;
};

}  // namespace

bool contains(const CharacterSet& set, char32_t character) {
  const auto after = std::ranges::upper_bound(set, character, {}, &CharacterRange::first);
  return after != set.begin() && character <= std::prev(after)->last;
}

std::expected<PatternTree, std::string> read_pattern(std::string_view pattern) {
  return PatternReader(pattern).read();
}

}  // namespace treaty::schema
