// What is wrong with a configuration, and where it stands.
#pragma once

#include <string>

namespace treaty::config {

struct Problem {
  std::string where;  // The file; else what was given: "--listen", "TREATY_LISTEN".
  int line = 0;       // From 1; 0: not in a file.
  int column = 0;
  std::string message{};
  std::string hint{};  // What to do about it; may be empty.
  bool operator==(const Problem&) const = default;
};

// "treaty.yaml:3:5: MESSAGE (HINT)".
std::string text_of(const Problem& problem);

}  // namespace treaty::config
