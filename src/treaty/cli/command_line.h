// The command line: commands as values, parsed in one place, so that every command has the same
// conventions and its help cannot drift from what it accepts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/pieces.h"

namespace treaty::cli {

// What a command ends with.
constexpr int kOk = 0;
constexpr int kViolated = 1;  // A contract is violated, or the job failed.
constexpr int kWrongUsage = 2;
constexpr int kUnavailable = 69;       // Somebody else is not there.
constexpr int kTryLater = 75;          // The same may go well another time.
constexpr int kBadConfiguration = 78;  // A key, an address or a setting is missing or wrong.

// Why a command ends without having done its work. Whoever runs the command tells it on stderr, as
// "treaty COMMAND: MESSAGE" with the next step on a line below.
struct CommandFailure {
  int exit_code = kViolated;
  std::string message{};   // Foreign text in it is harmless. Empty: it was told already.
  std::string next{};      // What to do about it, if anything.
  bool is_misuse = false;  // The next step is to read the help.
};
template <class T>
using Result = std::expected<T, CommandFailure>;

std::unexpected<CommandFailure> failed_with(int exit_code, std::string message,
                                            std::string next = {});
std::unexpected<CommandFailure> misused(const std::string& message);  // kWrongUsage.

// Tells it; answers its exit code. For commands that go on after a failure.
int tell_failure(std::string_view command, const CommandFailure& failure);

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

// The options of all these lists, in their order.
std::vector<Option> joined(std::initializer_list<std::vector<Option>> lists);

// --format human|json, for the commands that write for people or for programs.
Option format_option(std::string help = "For people, or for programs");
inline bool wants_json(const Arguments& arguments) { return arguments.get("--format") == "json"; }

// The number in that option, `otherwise` when it is not there.
Result<std::int64_t> read_number_option(const Arguments& arguments, const std::string& option,
                                        std::int64_t otherwise, std::int64_t least,
                                        std::int64_t most);

// "; did you mean NAME?", when one of the names is close to the word; else nothing.
std::string did_you_mean(std::span<const std::string_view> names, std::string_view word);

struct Example {
  std::string command;  // Without the leading "treaty ".
  std::string purpose;
};

struct Command {
  std::string name;
  std::string positionals{};  // For the usage line: "CONTRACT FILE...".
  std::string summary{};
  std::string description{};
  std::vector<Option> options{};
  std::vector<Example> examples{};
  std::vector<std::string> words{};  // What its first argument may be: for completion.
  std::function<Result<int>(const Arguments&)> run{};  // None: it has verbs and nothing besides.
  std::vector<Command> verbs{};  // Its first word says which; each is a whole command of its own.

  // With a run of its own and verbs, a first word that names no verb is an argument of its own; a
  // file with the name of a verb is ./NAME.
  bool has_both() const { return run && !verbs.empty(); }
  bool is_choice() const { return !run && !verbs.empty(); }
};

// Runs the command that the arguments name and answers its exit code.
int run_command_line(std::span<const Command> commands, int argc, const char* const* argv);

}  // namespace treaty::cli
