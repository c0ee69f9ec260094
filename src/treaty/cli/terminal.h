// What people see on a terminal: colours, and foreign text that cannot play tricks.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/base/json_text.h"

namespace treaty::cli {

// Unlike fmt's own, these never throw: that stdout is closed or full is told once, at the end.
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// A document on stdout: byte for byte into a file or a pipe; on a terminal, nothing in it that the
// terminal would obey. No piece of it ends inside a character.
void print_document(std::string_view text);

// A JSON object on a line of its own, as a document.
void print_json(const json::ObjectText& object);

// Colours only on a terminal, and not with NO_COLOR.
bool stdout_has_colors();

enum class Color { plain, bold, red, yellow, green, blue };

// The text in the colour, or as it is when `colors` is false.
std::string painted(std::string_view text, Color color, bool colors);

// A word for the shell: in single quotes, unless nothing in it has a meaning there.
std::string shell_word(std::string_view text);

// Such words with spaces between them.
std::string shell_line(const std::vector<std::string>& words);

// "1 item", "2 items".
std::string counted(std::size_t count, std::string_view thing);

// Foreign text on one line: control characters, tabs, marks that turn the direction of text and
// bytes that are not UTF-8 become `?` or a space.
std::string harmless(std::string_view text);

// Foreign text that keeps its lines and tabs, and nothing else that a terminal would obey. May be
// given in pieces, as long as no piece ends inside a character.
std::string harmless_lines(std::string_view text);

// "WHERE: MESSAGE", harmless; the message alone when it says where.
std::string text_of(const Error& error);

// A table for a terminal: each column as wide as its widest cell, the last one as it is.
using TableRows = std::vector<std::vector<std::string>>;
std::string table_text(const TableRows& rows);

class TextOutput {
 public:
  // No piece ends inside a character.
  void write(std::string_view text);

  // Ends the line that is open, if one is.
  void end_line();

  bool has_written() const { return written_; }

 private:
  bool written_ = false;
  bool line_open_ = false;
};

}  // namespace treaty::cli
