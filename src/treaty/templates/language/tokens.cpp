#include "treaty/templates/language/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <expected>
#include <optional>

#include "treaty/base/json/scan.h"
#include "treaty/base/number.h"
#include "treaty/base/text.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/template.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::language {
namespace {

// The longer ones first.
constexpr std::array<std::string_view, 25> kSymbols = {
    "==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%",
    "~",  "|",  ".",  "[",  "]",  "(",  ")", "{", "}", ",", ":", "="};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Letters of all scripts may be in names.
bool is_name_character(char c) {
  return is_word_character(c) || static_cast<unsigned char>(c) >= 0x80;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count])) ++count;
  return count;
}

// The size of `.5` and `e-3` at `at`; 0 when it is not there as a whole.
std::size_t fraction_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '.') return 0;
  const std::size_t digits = digits_at(text, at + 1);
  return digits == 0 ? 0 : digits + 1;
}
std::size_t exponent_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return 0;
  const bool has_sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
  const std::size_t sign = has_sign ? 1 : 0;
  const std::size_t digits = digits_at(text, at + 1 + sign);
  return digits == 0 ? 0 : 1 + sign + digits;
}

// --- Strings between quotes, and what a backslash means in them

constexpr char32_t kLastCodePoint = 0x10FFFF;

using json::is_high_surrogate;
using json::is_low_surrogate;

// Exactly `count` hexadecimal digits at the beginning.
std::optional<char32_t> read_digits(std::string_view text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value, 16);
  if (error != std::errc() || end != text.data() + count) return std::nullopt;
  return value;
}

struct Piece {
  char32_t code_point;
  std::size_t size;  // Of the escape, from the backslash on.
};

// `\uXXXX` and, for what needs it, the second half of the pair.
std::optional<Piece> read_unicode(std::string_view text) {
  const auto first = read_digits(text.substr(2), 4);
  if (!first || is_low_surrogate(*first)) return std::nullopt;
  if (!is_high_surrogate(*first)) return Piece{*first, 6};
  if (!text.substr(6).starts_with("\\u")) return std::nullopt;
  const auto second = read_digits(text.substr(8), 4);
  if (!second || !is_low_surrogate(*second)) return std::nullopt;
  return Piece{0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00), 12};
}

std::optional<Piece> read_hexadecimal(std::string_view text, std::size_t digits) {
  const auto value = read_digits(text.substr(2), digits);
  if (!value || *value > kLastCodePoint || is_high_surrogate(*value) || is_low_surrogate(*value)) {
    return std::nullopt;
  }
  return Piece{*value, 2 + digits};
}

// Up to three digits, of which there is one.
Piece read_octal(std::string_view text) {
  char32_t value = 0;
  std::size_t size = 1;
  for (; size < text.size() && size < 4 && text[size] >= '0' && text[size] <= '7'; ++size) {
    value = value * 8 + static_cast<char32_t>(text[size] - '0');
  }
  return {value, size};
}

// The character that a backslash and `c` stand for; those after `t` are of templates only.
std::optional<char> plain_escape(char c, Dialect dialect) {
  constexpr std::string_view kNames = "\\'\"nrtabfv";
  constexpr std::string_view kMeanings = "\\'\"\n\r\t\a\b\f\v";
  const std::size_t at = kNames.substr(0, dialect == Dialect::condition ? 6 : 10).find(c);
  return at == std::string_view::npos ? std::nullopt : std::optional(kMeanings[at]);
}

// What the backslash that begins `text` and what follows it mean. Nothing: no more than they are.
std::expected<std::optional<Piece>, std::string> read_escape(std::string_view text,
                                                             Dialect dialect) {
  const char c = text[1];
  if (const auto plain = plain_escape(c, dialect)) {
    return Piece{static_cast<unsigned char>(*plain), 2};
  }
  if (dialect == Dialect::condition && c != 'u') {
    return std::unexpected(R"(a string has only the escapes \\ \' \" \n \r \t \uXXXX)");
  }
  if (c >= '0' && c <= '7') return read_octal(text);
  if (c != 'x' && c != 'u' && c != 'U') return std::nullopt;
  const auto piece = c == 'u' ? read_unicode(text) : read_hexadecimal(text, c == 'x' ? 2 : 8);
  if (!piece) return std::unexpected("the escape names no character");
  return piece;
}

// Conditions have the escapes \\ \' \" \n \r \t \uXXXX and nothing else; templates those of
// Python, and other backslashes stay.
std::expected<std::string, SyntaxFault> unescape(std::string_view text, Dialect dialect) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out.push_back(text[at++]);
      continue;
    }
    if (dialect == Dialect::text && text[at + 1] == '\n') {  // The line goes on.
      at += 2;
      continue;
    }
    const auto piece = read_escape(text.substr(at), dialect);
    if (!piece) return std::unexpected(SyntaxFault{piece.error(), at});
    if (piece->has_value()) {
      append_utf8(out, (*piece)->code_point);
      at += (*piece)->size;
    } else {
      out.push_back(text[at++]);
    }
  }
  return out;
}

// The size of the string in quotes that begins `text`, both quotes included; 0 when it has no end.
std::size_t quoted_size(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == text[0]) {
      return at + 1;
    }
  }
  return 0;
}

}  // namespace

Token Tokens::make(TokenKind kind, std::size_t size) {
  Token token{.kind = kind, .offset = at_, .source = rest().substr(0, size)};
  at_ += size;
  after_dot_ = kind == TokenKind::symbol && token.source == ".";
  return token;
}

Token Tokens::bad(std::string problem) {
  return {.kind = TokenKind::bad, .offset = at_, .problem = std::move(problem)};
}

void Tokens::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

// A sign belongs to it when nothing but it follows.
std::size_t Tokens::closer_size() const {
  if (closer_.empty() || open_brackets_ > 0) return 0;
  if (rest().starts_with(closer_)) return closer_.size();
  const bool has_sign = rest().starts_with('-') || (closer_ == "%}" && rest().starts_with('+'));
  return has_sign && rest().substr(1).starts_with(closer_) ? closer_.size() + 1 : 0;
}

Token Tokens::next() {
  skip_space();
  if (at_ >= text_.size()) return {.offset = text_.size()};
  if (const std::size_t size = closer_size(); size > 0) return make(TokenKind::closer, size);
  const char first = text_[at_];
  if (is_digit(first)) return number();
  if (first == '\'' || first == '"') return text();
  if (!is_name_character(first)) return symbol();
  const auto name_end = std::ranges::find_if_not(rest(), is_name_character);
  return make(TokenKind::name, static_cast<std::size_t>(name_end - rest().begin()));
}

Token Tokens::number() {
  std::size_t size = digits_at(text_, at_);
  const bool is_member = after_dot_;
  if (!is_member && size > 1 && text_[at_] == '0') return bad("a number has no leading zero");
  const std::size_t whole_size = size;
  if (!is_member) {
    size += fraction_at(text_, at_ + size);
    size += exponent_at(text_, at_ + size);
  }
  const std::string_view source = rest().substr(0, size);
  if (at_ + size < text_.size() && is_name_character(text_[at_ + size])) {
    return bad(
        fmt::format("a number ends before {}", quoted_name(first_character(rest().substr(size)))));
  }
  if (size == whole_size) {
    std::int64_t whole = 0;
    const auto [_, error] = std::from_chars(source.data(), source.data() + size, whole);
    if (error != std::errc()) return bad("the number is too large for an integer");
    Token token = make(TokenKind::integer, size);
    token.value = whole;
    return token;
  }
  const double decimal = parse_decimal(source).value_or(0);
  if (!std::isfinite(decimal)) return bad("the number is too large");
  Token token = make(TokenKind::literal, size);
  token.value = decimal;
  return token;
}

Token Tokens::text() {
  const std::size_t size = quoted_size(rest());
  if (size == 0) return bad("the string has no end");
  const std::string_view inside = rest().substr(1, size - 2);
  auto unescaped = unescape(inside, dialect_);
  if (!unescaped) {
    at_ += 1 + unescaped.error().offset;
    return bad(std::move(unescaped.error().message));
  }
  Token token = make(TokenKind::literal, size);
  token.value = boost::json::string(*unescaped);
  return token;
}

Token Tokens::symbol() {
  const auto* const found = std::ranges::find_if(
      kSymbols, [&](std::string_view known) { return rest().starts_with(known); });
  if (found == kSymbols.end()) {
    return bad(fmt::format("{} has no meaning here", quoted_name(first_character(rest()))));
  }
  // A pair of braces or brackets is never one symbol; what is closed was open.
  if (*found == "[" || *found == "(" || *found == "{") ++open_brackets_;
  if ((*found == "]" || *found == ")" || *found == "}") && open_brackets_ > 0) --open_brackets_;
  return make(TokenKind::symbol, found->size());
}

}  // namespace treaty::templates::language
