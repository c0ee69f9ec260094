#include "treaty/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"

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
    const std::string again = option.repeatable ? "; may be repeated" : "";
    line(shape.empty() ? option.name : fmt::format("{} {}", option.name, shape),
         fmt::format("{}{}{}", option.help, preset, again));
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

std::string first_word(std::string_view text) {
  return std::string(text.substr(0, text.find(':')));
}
std::string last_word(std::string_view text) {
  return std::string(text.substr(text.rfind(' ') + 1));
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
    if (option.repeatable) {
      app.add_option(option.name, arguments.lists[option.name])->allow_extra_args(false);
      continue;
    }
    CLI::Option* added = app.add_option(option.name, values[option.name]);
    if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  }
  app.add_option("positionals", arguments.positionals);
  // CLI11 takes [x] for a list of its own; hidden behind a mark it stays a word.
  constexpr char kMark = '\x01';
  for (std::string& word : words) {
    if (word.starts_with('[') && word.ends_with(']')) word.insert(0, 1, kMark);
  }
  const auto unmark = [](std::string& word) {
    if (word.starts_with(kMark)) word.erase(0, 1);
  };
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError& error) {
    return wrong_usage(command.name, "there is no such option: " + last_word(error.what()));
  } catch (const CLI::ArgumentMismatch& error) {
    return wrong_usage(command.name, first_word(error.what()) + " takes one value");
  } catch (const CLI::ParseError& error) {
    return wrong_usage(command.name, error.what());
  }
  if (help) {
    print("{}", help_of(command));
    return kOk;
  }
  if (command.positionals.empty() && !arguments.positionals.empty()) {
    return wrong_usage(command.name, "it takes no arguments");
  }
  std::ranges::for_each(arguments.positionals, unmark);
  for (auto& [name, list] : arguments.lists) std::ranges::for_each(list, unmark);
  for (const Option& option : command.options) {
    if (option.repeatable) continue;
    unmark(values[option.name]);
    if (app.count(option.name) == 0) {
      if (!option.choices.empty()) arguments.options[option.name] = option.choices[0];
    } else {
      const bool flag = option.choices.empty() && option.value.empty();
      arguments.options[option.name] = flag ? "true" : values[option.name];
    }
  }
  return command.run(arguments);
}

// Nobody may take half of an output for the whole.
int finish_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  print_error("treaty: the output cannot be written\n");
  return std::max(code, kViolated);
}

}  // namespace

int wrong_usage(std::string_view command, std::string_view message) {
  std::string_view space = command.empty() ? "" : " ";
  print_error("treaty{}{}: {}\nTry: treaty{}{} --help\n", space, command, harmless(message), space,
              command);
  return kWrongUsage;
}

int run_command_line(std::span<const Command> commands, int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    print_error("{}", overview(commands));
    return kWrongUsage;
  }
  // `treaty help check` is `treaty check --help`.
  if (words[0] == "help" && words.size() == 2) words = {words[1], "--help"};
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print("{}", overview(commands));
    return finish_output(kOk);
  }
  const auto command = std::ranges::find(commands, words[0], &Command::name);
  if (command == commands.end()) {
    std::vector<std::string_view> names;
    for (const Command& one : commands) names.emplace_back(one.name);
    const std::string_view meant = closest(names, words[0]);
    return wrong_usage("",
                       fmt::format("there is no command \"{}\"{}", harmless(words[0]),
                                   meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  words.erase(words.begin());
  return finish_output(parse_and_run(*command, std::move(words)));
}

}  // namespace treaty::cli
