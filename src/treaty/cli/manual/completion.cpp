#include "treaty/cli/manual/completion.h"

#include <fmt/format.h>

namespace treaty::cli::manual {

std::string names_of(std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

bool takes_value(const Option& option) { return !option.choices.empty() || !option.value.empty(); }

Completes completes(const Option& option) {
  if (!option.choices.empty()) return Completes::words;
  if (option.value == "FILE" || option.value == "SCHEMA") return Completes::files;
  if (option.value == "DIR") return Completes::directories;
  return Completes::nothing;
}

bool takes_files(const Command& command) { return command.positionals.contains("FILE"); }

bool takes_directories(const Command& command) { return command.positionals.contains("DIR"); }

bool takes_program(const Command& command) { return command.positionals.contains("PROGRAM"); }

}  // namespace treaty::cli::manual
