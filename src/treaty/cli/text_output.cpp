#include "treaty/cli/text_output.h"

#include "treaty/cli/terminal.h"

namespace treaty::cli {

void TextOutput::write(std::string_view text) {
  if (text.empty()) return;
  print_document(text);
  std::fflush(stdout);
  written_ = true;
  line_open_ = !text.ends_with('\n');
}

void TextOutput::end_line() {
  if (line_open_) print("\n");
  std::fflush(stdout);
  line_open_ = false;
}

}  // namespace treaty::cli
