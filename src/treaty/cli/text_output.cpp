#include "treaty/cli/text_output.h"

#include <unistd.h>

#include <string>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

TextOutput::TextOutput() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void TextOutput::write(std::string_view text) {
  if (text.empty()) return;
  const std::string tame = terminal_ ? harmless_lines(text) : std::string(text);
  print("{}", tame);
  std::fflush(stdout);
  written_ = true;
  line_open_ = !tame.ends_with('\n');
}

void TextOutput::end_line() {
  if (line_open_) print("\n");
  std::fflush(stdout);
  line_open_ = false;
}

}  // namespace treaty::cli
