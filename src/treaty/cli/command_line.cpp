#include "treaty/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace treaty::cli {
namespace {

std::string shape_of(const Option& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  return option.value;
}

std::string help_of(const Command& command) {
  std::string out =
      fmt::format("{}\n\nUsage: treaty {}{}{} [OPTIONS]\n\n{}\n", command.summary, command.name,
                  command.positionals.empty() ? "" : " ", command.positionals, command.description);
  out += "\nOptions:\n";
  const auto line = [&](const std::string& left, const std::string& right) {
    if (left.size() <= 30) {
      out += fmt::format("  {:30}  {}\n", left, right);
    } else {
      out += fmt::format("  {}\n  {:30}  {}\n", left, "", right);
    }
  };
  for (const Option& option : command.options) {
    const std::string shape = shape_of(option);
    const std::string preset =
        option.choices.empty() ? "" : fmt::format(" (default {})", option.choices[0]);
    line(shape.empty() ? option.name : option.name + " " + shape, option.help + preset);
  }
  line("--help", "Print this help");
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : command.examples) {
    out += fmt::format("  # {}\n  treaty {}\n", example.purpose, example.command);
  }
  return out;
}

std::string overview(std::span<const Command> commands) {
  std::string out =
      "Treaty: the contracts between agents and the products around them, made real.\n\n"
      "Usage: treaty COMMAND [ARGUMENTS]\n\nCommands:\n";
  for (const Command& command : commands) {
    out += fmt::format("  {:10}  {}\n", command.name, command.summary);
  }
  out += "\n`treaty COMMAND --help` tells more, with examples.\n";
  return out;
}

// The command that was most likely meant: the one that shares most of its letters in order.
std::string closest(std::span<const Command> commands, std::string_view word) {
  std::string best;
  std::size_t least = word.size() / 2 + 1;
  for (const Command& command : commands) {
    std::vector<std::size_t> row(word.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
    for (std::size_t i = 0; i < command.name.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t k = 0; k < word.size(); ++k) {
        const std::size_t substituted = diagonal + (command.name[i] == word[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({substituted, row[k] + 1, row[k + 1] + 1});
      }
    }
    if (row.back() < least) {
      least = row.back();
      best = command.name;
    }
  }
  return best;
}

// CLI11 does the splitting; exceptions of its own end here.
int parse_and_run(const Command& command, std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag();
  bool help = false;
  app.add_flag("--help,-h", help);
  Arguments arguments;
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
  for (const Option& option : command.options) {
    if (option.choices.empty() && option.value.empty()) {
      app.add_flag(option.name, flags[option.name]);
      continue;
    }
    CLI::Option* added = app.add_option(option.name, values[option.name]);
    if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  }
  app.add_option("positionals", arguments.positionals);
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return wrong_usage(command.name, error.what());
  }
  if (help) {
    fmt::print("{}", help_of(command));
    return kOk;
  }
  for (const Option& option : command.options) {
    if (app.count(option.name) == 0) {
      if (!option.choices.empty()) arguments.options[option.name] = option.choices[0];
    } else {
      const bool flag = option.choices.empty() && option.value.empty();
      arguments.options[option.name] = flag ? "true" : values[option.name];
    }
  }
  return command.run(arguments);
}

}  // namespace

int wrong_usage(std::string_view command, std::string_view message) {
  std::string_view space = command.empty() ? "" : " ";
  fmt::print(stderr, "treaty{}{}: {}\nTry: treaty{}{} --help\n", space, command, message, space,
             command);
  return kWrongUsage;
}

int run_command_line(std::span<const Command> commands, int argc, const char* const* argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}", overview(commands));
    return kWrongUsage;
  }
  const std::string_view word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") {
    fmt::print("{}", overview(commands));
    return kOk;
  }
  const std::string_view name = word == "--version" ? "version" : word;
  const auto command = std::ranges::find(commands, name, &Command::name);
  if (command == commands.end()) {
    const std::string meant = closest(commands, word);
    return wrong_usage("",
                       fmt::format("there is no command \"{}\"{}", word,
                                   meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  int code = parse_and_run(*command, std::vector<std::string>(argv + 2, argv + argc));
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "treaty {}: the output cannot be written\n", command->name);
    code = std::max(code, kViolated);
  }
  return code;
}

}  // namespace treaty::cli
