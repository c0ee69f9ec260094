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

std::string options_and_examples(const Command& command) {
  std::string out = "\nOptions:\n";
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

std::string list_of(std::span<const Command> commands) {
  std::string out = "Commands:\n";
  for (const Command& command : commands) {
    out += fmt::format("  {:10}  {}\n", command.name, command.summary);
  }
  return out;
}

std::string help_of(const Command& command, std::string_view path) {
  // Behind -- nothing is an option of this command any more.
  const std::string options_and_arguments =
      command.positionals.starts_with("--") ? fmt::format("[OPTIONS] {}", command.positionals)
                                            : fmt::format("{}{}[OPTIONS]", command.positionals,
                                                          command.positionals.empty() ? "" : " ");
  std::string usage = fmt::format("Usage: treaty {} {}\n", path, options_and_arguments);
  std::string verbs;
  if (command.has_both()) {
    usage += fmt::format("       treaty {} COMMAND [ARGUMENTS]\n", path);
    verbs = "\n" + list_of(command.verbs);
  }
  return fmt::format("{}\n\n{}\n{}\n{}{}", command.summary, usage, command.description, verbs,
                     options_and_examples(command));
}

std::string overview(std::span<const Command> commands) {
  return fmt::format(
      "Treaty: the contracts between agents and the products around them, made real.\n\n"
      "Usage: treaty COMMAND [ARGUMENTS]\n\n{}\n"
      "`treaty COMMAND --help` tells more, with examples.\n",
      list_of(commands));
}

std::string overview(const Command& command, std::string_view path) {
  return fmt::format(
      "{}\n\nUsage: treaty {} COMMAND [ARGUMENTS]\n\n{}\n\n{}{}\n"
      "`treaty {} COMMAND --help` tells more, with examples.\n",
      command.summary, path, command.description, list_of(command.verbs),
      options_and_examples(command), path);
}

std::string first_word(std::string_view text) {
  return std::string(text.substr(0, text.find(':')));
}
std::string last_word(std::string_view text) {
  return std::string(text.substr(text.rfind(' ') + 1));
}

int wrong_usage(std::string_view path, std::string message) {
  return tell_failure(path, misused(std::move(message)).error());
}

// CLI11 does the splitting; exceptions of its own end here.
int parse_and_run(const Command& command, std::string_view path, std::vector<std::string> words) {
  // What stands behind is for somebody else, and looks like options of his.
  const auto separator = std::ranges::find(words, "--");
  const std::vector<std::string> verbatim(
      separator == words.end() ? separator : std::next(separator), words.end());
  words.erase(separator, words.end());
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
    return wrong_usage(path, "there is no such option: " + last_word(error.what()));
  } catch (const CLI::ArgumentMismatch& error) {
    return wrong_usage(path, first_word(error.what()) + " takes one value");
  } catch (const CLI::ParseError& error) {
    return wrong_usage(path, error.what());
  }
  if (help) {
    print("{}", help_of(command, path));
    return kOk;
  }
  std::ranges::for_each(arguments.positionals, unmark);
  arguments.positionals.insert(arguments.positionals.end(), verbatim.begin(), verbatim.end());
  if (command.positionals.empty() && !arguments.positionals.empty()) {
    return wrong_usage(path, "it takes no arguments");
  }
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
  const Result<int> ended = command.run(arguments);
  return ended ? *ended : tell_failure(path, ended.error());
}

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == "help";
}

// `help` in front of names is --help behind them.
void put_help_behind(std::vector<std::string>& words) {
  if (words.size() < 2 || words[0] != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

// The command among these that the first word names; tells when there is none.
const Command* named(std::span<const Command> commands, std::string_view path,
                     std::string_view word) {
  const auto found = std::ranges::find(commands, word, &Command::name);
  if (found != commands.end()) return &*found;
  std::vector<std::string_view> names;
  for (const Command& one : commands) names.emplace_back(one.name);
  wrong_usage(path, fmt::format("there is no command \"{}\"{}", word, did_you_mean(names, word)));
  return nullptr;
}

// Goes down from verb to verb, to the command that is meant.
int dispatch(const Command& command, std::string path, std::vector<std::string> words) {
  const auto is_named = [&](const Command& verb) { return verb.name == words[0]; };
  const bool names_verb = !words.empty() && std::ranges::any_of(command.verbs, is_named);
  if (!command.is_choice() && !names_verb) return parse_and_run(command, path, std::move(words));
  if (words.empty()) {
    print_error("{}", overview(command, path));
    return kWrongUsage;
  }
  put_help_behind(words);
  if (asks_for_help(words[0])) {
    print("{}", overview(command, path));
    return kOk;
  }
  const Command* verb = named(command.verbs, path, words[0]);
  if (verb == nullptr) return kWrongUsage;
  words.erase(words.begin());
  return dispatch(*verb, fmt::format("{} {}", path, verb->name), std::move(words));
}

// Nobody may take half of an output for the whole.
int finish_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  print_error("treaty: the output cannot be written\n");
  return std::max(code, kViolated);
}

}  // namespace

std::vector<Option> joined(std::initializer_list<std::vector<Option>> lists) {
  std::vector<Option> all;
  for (const std::vector<Option>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Option format_option(std::string help) {
  return {"--format", "", std::move(help), {"human", "json"}};
}

std::string did_you_mean(std::span<const std::string_view> names, std::string_view word) {
  const std::string_view meant = closest(names, word);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

std::unexpected<CommandFailure> failed_with(int exit_code, std::string message, std::string next) {
  return std::unexpected(CommandFailure{exit_code, std::move(message), std::move(next)});
}

std::unexpected<CommandFailure> misused(const std::string& message) {
  return std::unexpected(
      CommandFailure{.exit_code = kWrongUsage, .message = harmless(message), .is_misuse = true});
}

// Of a verb: "treaty bridge run: MESSAGE".
int tell_failure(std::string_view command, const CommandFailure& failure) {
  const std::string name = fmt::format("treaty{}{}", command.empty() ? "" : " ", command);
  for (std::size_t begin = 0; begin < failure.message.size();) {  // A problem on each line.
    const auto line = line_at(failure.message, begin);
    print_error("{}: {}\n", name, line.text);
    begin = line.next;
  }
  if (!failure.next.empty()) print_error("Next: {}\n", failure.next);
  if (failure.is_misuse) print_error("Try: {} --help\n", name);
  return failure.exit_code;
}

Result<std::int64_t> read_number_option(const Arguments& arguments, const std::string& option,
                                        std::int64_t otherwise, std::int64_t least,
                                        std::int64_t most) {
  if (!arguments.has(option)) return otherwise;
  const auto number = parse_number<std::int64_t>(arguments.get(option));
  if (number && *number >= least && *number <= most) return *number;
  return misused(fmt::format("{} takes a number from {} to {}", option, least, most));
}

int run_command_line(std::span<const Command> commands, int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    print_error("{}", overview(commands));
    return kWrongUsage;
  }
  put_help_behind(words);
  if (words[0] == "--version") words[0] = "version";
  if (asks_for_help(words[0])) {
    print("{}", overview(commands));
    return finish_output(kOk);
  }
  const Command* command = named(commands, "", words[0]);
  if (command == nullptr) return kWrongUsage;
  words.erase(words.begin());
  return finish_output(dispatch(*command, command->name, std::move(words)));
}

}  // namespace treaty::cli
