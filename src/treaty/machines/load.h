// Reads flatmachine files: everything that is wrong at once, with line, column, rule and hint, or
// the machine.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"

namespace treaty::machines {

// One sentence of machines.md section 1, broken at a place.
struct MachineFinding {
  std::string rule;     // "MCH-08".
  int line = 1;         // From 1.
  int column = 1;       // In characters, from 1.
  std::string where{};  // A JSON pointer: "/data/states/s/transitions/0/to".
  std::string message;
  std::string hint{};      // What to do about it; may be empty.
  std::size_t offset = 0;  // Of line and column in the text, in bytes.
};

constexpr std::size_t kMostListed = 1000;

struct Loaded {
  std::shared_ptr<const Machine> machine{};  // Null when there is a violation.
  std::vector<MachineFinding> violations{};  // By line.
  std::vector<MachineFinding> warnings{};
  std::size_t more = 0;  // Findings that are not listed: the lists take kMostListed together.
};

struct LoadOptions {
  std::string directory = ".";                 // Of the file.
  std::set<std::string, std::less<>> hooks{};  // Registered beside the built-in ones.
};

Loaded load_machine(std::string_view text, const LoadOptions& options);

}  // namespace treaty::machines
