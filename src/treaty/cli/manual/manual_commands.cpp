#include <fmt/format.h>

#include <memory>

#include "treaty/cli/commands.h"
#include "treaty/cli/manual/manual.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::manual {
namespace {

using Table = std::shared_ptr<const std::vector<Command>>;

Result<int> complete(const Table& table, const Arguments& arguments) {
  const std::string shell = arguments.positionals.size() == 1 ? arguments.positionals[0] : "";
  if (shell == "bash") {
    print("{}", bash_completion(*table));
  } else if (shell == "zsh") {
    print("{}", zsh_completion(*table));
  } else if (shell == "fish") {
    print("{}", fish_completion(*table));
  } else {
    return misused("say for which shell: bash, zsh or fish");
  }
  return kOk;
}

Command completion_command() {
  return {
      .name = "completion",
      .positionals = "bash|zsh|fish",
      .summary = "Print the completion of this command line for a shell",
      .description = R"(`make install` puts them where the shells look. Else: for bash below
~/.local/share/bash-completion/completions, for zsh as _treaty in a directory of $fpath,
for fish in ~/.config/fish/completions. Exit: 0 printed, 2 wrong usage.)",
      .examples = {{"completion bash > treaty.bash", "For `source treaty.bash`"},
                   {"completion zsh > _treaty", "For a directory of $fpath"},
                   {"completion fish > treaty.fish", "For ~/.config/fish/completions"}},
      .words = {"bash", "zsh", "fish"},
      .run = {},
  };
}

Command man_command() {
  return {
      .name = "man",
      .summary = "Print the manual page",
      .description = "`make install` puts it where `man treaty` finds it. Exit: 0 printed.",
      .examples = {{"man > treaty.1", "For `man ./treaty.1`"}},
      .run = {},
  };
}

}  // namespace

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

void add_commands(std::vector<Command>& commands) {
  commands.push_back(completion_command());
  commands.push_back(man_command());
  const auto table = std::make_shared<const std::vector<Command>>(commands);
  commands.rbegin()[1].run = [table](const Arguments& arguments) {
    return complete(table, arguments);
  };
  commands.rbegin()[0].run = [table](const Arguments&) {
    print("{}", man_page(*table));
    return kOk;
  };
}

}  // namespace treaty::cli::manual
