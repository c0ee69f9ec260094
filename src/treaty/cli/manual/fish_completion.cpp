#include <fmt/format.h>

#include "treaty/cli/manual/completion.h"

namespace treaty::cli {
namespace {

// fish has its own rule for what is special between single quotes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string option_line(const Command& command, const Option& option) {
  std::string out = fmt::format("complete -c treaty -n '__treaty_is {}' -l {} -d {}", command.name,
                                option.name.substr(2), fish_quoted(option.help));
  if (!takes_value(option)) return out + "\n";
  switch (completes(option)) {
    case Completes::words:
      return out + fmt::format(" -x -a '{}'\n", fmt::join(option.choices, " "));
    case Completes::files: return out + " -r -F\n";
    case Completes::directories: return out + " -x -a '(__fish_complete_directories)'\n";
    case Completes::nothing: return out + " -x\n";
  }
  return out + "\n";
}

}  // namespace

std::string fish_completion(std::span<const Command> commands) {
  std::string out =
      "# Completion of treaty for fish. Made by `treaty completion fish`: install it as\n"
      "# ~/.config/fish/completions/treaty.fish.\n\n"
      "function __treaty_is --description 'Whether this is the command'\n"
      "    set -l words (commandline -opc)\n"
      "    test (count $words) -ge 2; and test \"$words[2]\" = $argv[1]\n"
      "end\n\n"
      "function __treaty_is_first --description 'Whether its first argument comes next'\n"
      "    set -l words (commandline -opc)\n"
      "    test (count $words) -eq 2; and test \"$words[2]\" = $argv[1]\n"
      "end\n\n"
      "function __treaty_has_none --description 'Whether the command comes next'\n"
      "    test (count (commandline -opc)) -eq 1\n"
      "end\n\n"
      "complete -c treaty -f\n";
  for (const Command& command : commands) {
    out += fmt::format("complete -c treaty -n __treaty_has_none -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
    out += fmt::format("complete -c treaty -n '__treaty_is_first help' -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
  }
  for (const Command& command : commands) {
    for (const Option& option : command.options) out += option_line(command, option);
    out += fmt::format("complete -c treaty -n '__treaty_is {}' -l help -d 'Print this help'\n",
                       command.name);
    if (!command.words.empty()) {
      out += fmt::format("complete -c treaty -n '__treaty_is_first {}' -a '{}'\n", command.name,
                         fmt::join(command.words, " "));
    }
    if (takes_files(command)) {
      out += fmt::format("complete -c treaty -n '__treaty_is {}' -F\n", command.name);
    }
  }
  return out;
}

}  // namespace treaty::cli
