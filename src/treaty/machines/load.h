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

#include "treaty/base/diagnostic.h"
#include "treaty/machines/machine.h"

namespace treaty::machines {

// A finding is a sentence of machines.md section 1 that is broken at a place: `rule` is "MCH-08",
// `where` a JSON pointer ("/data/states/s/transitions/0/to"), the column counts characters.
constexpr std::size_t kMostListed = 1000;

struct Loaded {
  std::shared_ptr<const Machine> machine{};  // Null when there is a violation.
  std::vector<Diagnostic> violations{};      // By line.
  std::vector<Diagnostic> warnings{};
  std::size_t more = 0;  // Findings that are not listed: the lists take kMostListed together.
};

struct LoadOptions {
  std::string directory = ".";                 // Of the file.
  std::set<std::string, std::less<>> hooks{};  // Registered beside the built-in ones.
};

Loaded load_machine(std::string_view text, const LoadOptions& options);

}  // namespace treaty::machines
