// The text of a model on stdout, in pieces as they come. It must not command a terminal; for a file
// or a pipe it stays as it is.
#pragma once

#include <string_view>

namespace treaty::cli {

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
