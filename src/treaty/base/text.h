// Questions about text that more than one contract asks: blankness, control characters, UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace treaty {

// One decoded code point; length 0 means that the bytes at this place are not UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;
};

// Reads the code point that begins `bytes`. Refuses overlong forms, surrogates and values past
// U+10FFFF, as RFC 3629 demands.
CodePoint read_code_point(std::string_view bytes);

// Appends `code_point` as UTF-8; a surrogate or a value past U+10FFFF becomes U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

bool is_utf8(std::string_view bytes);

// With U+FFFD in the place of every byte that is not UTF-8.
std::string repaired_utf8(std::string_view bytes);

// The longest beginning of at most `most` bytes that ends between two characters.
std::string_view utf8_prefix(std::string_view utf8, std::size_t most);

// How many columns of a terminal a text takes: wide characters of East Asia and pictures two, marks
// on the character before none.
std::size_t columns_of(std::string_view utf8);

// The longest beginning that takes at most so many columns.
std::string_view fitting(std::string_view utf8, std::size_t columns);

// True for the empty string and for one of nothing but Unicode white space.
bool is_blank(std::string_view utf8);

// True when a C0 or C1 control character or DEL is in it.
bool has_control_character(std::string_view utf8);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

// A letter, a digit or `_`.
constexpr bool is_word_character(char c) { return is_alphanumeric(c) || c == '_'; }

// True when no word runs into `at` from the left.
constexpr bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || !is_word_character(text[at - 1]);
}

// How many characters from `at` on satisfy `test`, up to `most`: whoever looks at every place of a
// hostile text must not look at the same characters again and again.
constexpr std::size_t run_length(std::string_view text, std::size_t at, auto test,
                                 std::size_t most = 256) {
  std::size_t size = 0;
  while (size < most && at + size < text.size() && test(text[at + size])) ++size;
  return size;
}

// Equality without regard to the case of ASCII letters.
bool equal_folded(std::string_view left, std::string_view right);
bool starts_with_folded(std::string_view text, std::string_view prefix);
std::string folded(std::string_view text);

// Where `words` (in lower case) first stand in `text`, whatever its case; npos when nowhere.
std::size_t find_folded(std::string_view text, std::string_view words);

// Without the ASCII white space at both ends.
std::string_view trimmed(std::string_view text);

struct Line {
  std::string_view text;  // Without the line's end: \n, \r\n or \r.
  std::size_t next;       // Where the following line begins; past the end when there is none.
};

// The line of `text` that begins at `begin`.
Line line_at(std::string_view text, std::size_t begin);

// The word that was most likely meant by `word`; empty when none is like it.
std::string_view closest(std::span<const std::string_view> words, std::string_view word);

// The 8-4-4-4-12 form of RFC 9562, in either case.
bool is_uuid(std::string_view text);

// `type/subtype`, optionally followed by parameters.
bool is_media_type(std::string_view text);

}  // namespace treaty
