// The command line: commands as values, parsed in one place, so that every command has the same
// conventions and its help cannot drift from what it accepts.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace treaty::cli {

// What a command ends with.
constexpr int kOk = 0;
constexpr int kViolated = 1;  // A contract is violated, or the job failed.
constexpr int kWrongUsage = 2;
constexpr int kUnavailable = 69;  // Somebody else is not there.
constexpr int kTryLater = 75;     // The same may go well another time.
constexpr int kBadConfiguration =
    78;  // A key, an address or a file of settings is missing or wrong.

struct Option {
  std::string name;   // "--profile".
  std::string value;  // "FILE", "N"; empty for a flag. Ignored when there are choices.
  std::string help;
  std::vector<std::string> choices{};  // The first one is the default.
  bool repeatable = false;             // Its values are in Arguments::lists.
};

struct Arguments {
  std::vector<std::string> positionals;  // What stands after `--` is among them, word for word.
  std::map<std::string, std::string> options;  // By name; flags that are set have "true".
  std::map<std::string, std::vector<std::string>> lists{};  // Of options that may be repeated.

  bool has(const std::string& name) const { return options.contains(name); }
  std::string get(const std::string& name, const std::string& otherwise = "") const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
  std::vector<std::string> all(const std::string& name) const {
    const auto found = lists.find(name);
    return found == lists.end() ? std::vector<std::string>() : found->second;
  }
};

struct Example {
  std::string command;  // Without the leading "treaty ".
  std::string purpose;
};

struct Command {
  std::string name;
  std::string positionals;  // For the usage line: "CONTRACT FILE...".
  std::string summary;
  std::string description;
  std::vector<Option> options{};
  std::vector<Example> examples{};
  std::vector<std::string>
      words{};  // What its first argument may be, among others: for completion.
  std::function<int(const Arguments&)> run{};  // None: it has verbs and nothing besides.
  std::vector<Command> verbs{};  // Its first word says which; each is a whole command of its own.

  // With a run of its own and verbs, a first word that names no verb is an argument of its own; a
  // file with the name of a verb is ./NAME.
  bool has_both() const { return run && !verbs.empty(); }
  bool is_choice() const { return !run && !verbs.empty(); }
};

// Runs the command that the arguments name and answers its exit code.
int run_command_line(std::span<const Command> commands, int argc, const char* const* argv);

// "treaty COMMAND: MESSAGE" (of a verb: "bridge run") and the next step to take, on stderr; answers
// kWrongUsage.
int wrong_usage(std::string_view command, std::string_view message);

}  // namespace treaty::cli
