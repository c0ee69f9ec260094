// A line of a document with a caret under what is meant, as compilers show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

struct Mark {
  std::string_view text;   // The whole document.
  std::size_t offset;      // What is meant begins there, in bytes,
  std::size_t length;      // and has as many; at least one is marked.
  std::size_t line;        // As it is told; from 1.
  std::size_t column;      // In characters, from 1.
  std::string_view where;  // A JSON pointer, written beside the caret.
};

// A finding as people read it: place, rule and message, then the quoted line, then the hint.
struct FindingText {
  std::string_view file;
  std::string_view rule;
  std::string_view message;
  std::string_view hint;
  bool is_violation;
};
std::string finding_text(const FindingText& finding, const Mark& mark, bool colors);

// Cut to what fits. Looks at no more of the text than it shows: a line may be as long as the
// document.
std::string quoted_line(const Mark& mark, Color color, bool colors);

}  // namespace treaty::cli
