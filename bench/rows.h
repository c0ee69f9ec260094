// The rows of the table that `make bench` ends with: each program tells its own as it finds them.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

struct Row {
  std::string id;    // "P4": its row of the goals.
  std::string what;  // In few words.
  double measured = 0;
  std::string unit;
  double goal = 0;
  bool at_least = false;  // Else at most.
  std::string beside{};   // What else was measured in the same run, to compare with.

  bool is_met() const { return at_least ? measured >= goal : measured <= goal; }
};

// Prints the row, and keeps it in the file that TREATY_BENCH_ROWS names, for the table.
inline void tell(const Row& row) {
  const char* sign = row.at_least ? "at least" : "at most";
  fmt::print("{}: {}: {:.4g} {}; goal: {} {:.4g}: {}{}{}\n", row.id, row.what, row.measured,
             row.unit, sign, row.goal, row.is_met() ? "met" : "missed",
             row.beside.empty() ? "" : "; ", row.beside);
  std::fflush(stdout);
  const char* path = std::getenv("TREATY_BENCH_ROWS");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  fmt::print(file, "{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.id, row.what, row.measured, row.unit,
             row.at_least ? ">=" : "<=", row.goal, row.beside);
  std::fclose(file);
}

}  // namespace bench
