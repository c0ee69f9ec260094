// The words of conditions and of what stands between `{{` and `}}`: both languages have the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "treaty/templates/value.h"

namespace treaty::templates::language {

enum class Dialect : std::uint8_t {
  condition,  // machines.md section 3.
  text,       // The Jinja subset, section 2.
};

enum class TokenKind : std::uint8_t {
  end,     // Of the text.
  closer,  // The end of a tag, with its sign: `}}`, `-%}`.
  name,
  integer,
  literal,  // A decimal number or a string.
  symbol,
  bad,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t offset = 0;
  std::string_view source{};  // As it stands in the text.
  Dynamic value{};            // Of numbers and strings.
  std::string problem{};      // Of a bad one.

  bool is(std::string_view word) const {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && source == word;
  }
};

class Tokens {
 public:
  // From `offset` on. `closer` ends a tag where no bracket is open; a text without tags has none.
  Tokens(std::string_view text, Dialect dialect, std::size_t offset = 0,
         std::string_view closer = "")
      : text_(text), dialect_(dialect), at_(offset), closer_(closer) {}

  Token next();

 private:
  Token make(TokenKind kind, std::size_t size);
  Token bad(std::string problem);
  Token number();
  Token text();
  Token symbol();
  std::size_t closer_size() const;
  void skip_space();
  std::string_view rest() const { return text_.substr(at_); }

  std::string_view text_;
  Dialect dialect_;
  std::size_t at_;
  std::string_view closer_;
  std::size_t open_brackets_ = 0;
  bool after_dot_ = false;  // `x.0.1` has no decimal number in it.
};

}  // namespace treaty::templates::language
