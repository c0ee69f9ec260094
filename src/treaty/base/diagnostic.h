// One thing that is wrong with something that was given: a configuration, a script, a machine.
//
//   Diagnostic unknown{.where = "treaty.yaml", .line = 3, .column = 5, .message = "unknown key"};
//   text_of(unknown);  // "treaty.yaml:3:5: unknown key"
#pragma once

#include <cstddef>
#include <string>

#include "treaty/base/error.h"

namespace treaty {

namespace json {
class Writer;
}

struct Diagnostic {
  std::string rule{};   // "MCH-08"; empty: no rule is named.
  std::string where{};  // A file; else what was given: "--listen", "TREATY_LISTEN". In machine
                        // files, whose name is known, a JSON pointer.
  int line = 0;         // From 1; 0: not in a text.
  int column = 0;
  std::string message{};
  std::string hint{};      // What to do about it; may be empty.
  std::size_t offset = 0;  // Bytes from the start of the text, if known.
  bool operator==(const Diagnostic&) const = default;
};

// "treaty.yaml:3:5: MESSAGE (HINT)".
std::string text_of(const Diagnostic& diagnostic);

// {"where", "line", "column", "message", "hint"}; what is not known is left out.
void write(json::Writer& writer, const Diagnostic& diagnostic);

// Of an error whose `where` is "LINE:COLUMN", as readers of texts give it.
Diagnostic diagnostic_of(const Error& error, std::string where = {});

}  // namespace treaty
