#include "treaty/templates/language/escapes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "treaty/base/text.h"

namespace treaty::templates::language {
namespace {

using Unescaped = std::expected<std::string, EscapeProblem>;

constexpr char32_t kLastCodePoint = 0x10FFFF;

bool is_high_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDBFF; }
bool is_low_surrogate(char32_t c) { return c >= 0xDC00 && c <= 0xDFFF; }

// Exactly `count` digits at the beginning.
std::optional<char32_t> read_digits(std::string_view text, std::size_t count, int base) {
  if (text.size() < count) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value, base);
  if (error != std::errc() || end != text.data() + count) return std::nullopt;
  return value;
}

struct Piece {
  char32_t code_point;
  std::size_t size;  // Of the escape, from the backslash on.
};

// `\uXXXX` and, for what needs it, the second half of the pair.
std::optional<Piece> read_unicode(std::string_view text) {
  const auto first = read_digits(text.substr(2), 4, 16);
  if (!first || is_low_surrogate(*first)) return std::nullopt;
  if (!is_high_surrogate(*first)) return Piece{*first, 6};
  if (!text.substr(6).starts_with("\\u")) return std::nullopt;
  const auto second = read_digits(text.substr(8), 4, 16);
  if (!second || !is_low_surrogate(*second)) return std::nullopt;
  return Piece{0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00), 12};
}

std::optional<Piece> read_hexadecimal(std::string_view text, std::size_t digits) {
  const auto value = read_digits(text.substr(2), digits, 16);
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

std::optional<char> plain_escape(char c) {
  switch (c) {
    case '\\': return '\\';
    case '\'': return '\'';
    case '"': return '"';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return std::nullopt;
  }
}

std::optional<char> rare_escape(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    default: return std::nullopt;
  }
}

EscapeProblem unknown_character(std::size_t offset) {
  return {"the escape names no character", offset};
}

// What the backslash that begins `text` and what follows it mean in a template.
std::expected<std::optional<Piece>, EscapeProblem> read_python_escape(std::string_view text,
                                                                      std::size_t offset) {
  const char c = text[1];
  if (const auto rare = rare_escape(c)) return Piece{static_cast<unsigned char>(*rare), 2};
  if (c >= '0' && c <= '7') return read_octal(text);
  if (c != 'x' && c != 'u' && c != 'U') return std::nullopt;
  const auto piece = c == 'u' ? read_unicode(text) : read_hexadecimal(text, c == 'x' ? 2 : 8);
  if (!piece) return std::unexpected(unknown_character(offset));
  return piece;
}

}  // namespace

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

Unescaped unescape_strictly(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out.push_back(text[at++]);
      continue;
    }
    if (const auto plain = plain_escape(text[at + 1])) {
      out.push_back(*plain);
      at += 2;
      continue;
    }
    if (text[at + 1] != 'u') {
      return std::unexpected(EscapeProblem{
          fmt::format(R"(a string has only the escapes \\ \' \" \n \r \t \uXXXX)"), at});
    }
    const auto piece = read_unicode(text.substr(at));
    if (!piece) return std::unexpected(unknown_character(at));
    append_utf8(out, piece->code_point);
    at += piece->size;
  }
  return out;
}

Unescaped unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out.push_back(text[at++]);
      continue;
    }
    if (const auto plain = plain_escape(text[at + 1])) {
      out.push_back(*plain);
      at += 2;
      continue;
    }
    if (text[at + 1] == '\n') {  // The line goes on.
      at += 2;
      continue;
    }
    const auto piece = read_python_escape(text.substr(at), at);
    if (!piece) return std::unexpected(piece.error());
    if (piece->has_value()) {
      append_utf8(out, (*piece)->code_point);
      at += (*piece)->size;
    } else {
      out.push_back(text[at++]);
    }
  }
  return out;
}

}  // namespace treaty::templates::language
