#include <fmt/format.h>

#include "treaty/cli/manual/manual.h"

namespace treaty::cli::manual {
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

// The command as it is typed ("check", "bridge run"), and not one of the verbs beside it.
std::string place_of(const Command& command, const std::string& path) {
  std::string out = path;
  if (!command.has_both()) return out;
  for (const Command& verb : command.verbs) {
    out += fmt::format("; and not __treaty_is {} {}", path, verb.name);
  }
  return out;
}

std::string option_line(const std::string& place, const Option& option) {
  std::string out = fmt::format("complete -c treaty -n '__treaty_is {}' -l {} -d {}", place,
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

void add_command(std::string& out, const Command& command, const std::string& path) {
  const std::string place = place_of(command, path);
  for (const Option& option : command.options) out += option_line(place, option);
  const std::string start = "complete -c treaty -n '__treaty_is";
  out += fmt::format("{} {}' -l help -d 'Print this help'\n", start, place);
  if (!command.words.empty()) {
    out += fmt::format("{}_first {}' -a '{}'\n", start, path, fmt::join(command.words, " "));
  }
  if (takes_files(command) || takes_program(command)) {
    out += fmt::format("{} {}' -F\n", start, place);
  }
  if (takes_directories(command)) {
    out += fmt::format("{} {}' -a '(__fish_complete_directories)'\n", start, path);
  }
  for (const Command& verb : command.verbs) {
    for (const std::string& before : {path, "help " + path}) {
      out += fmt::format("{}_first {}' -a {} -d {}\n", start, before, verb.name,
                         fish_quoted(verb.summary));
    }
  }
  for (const Command& verb : command.verbs) {
    add_command(out, verb, fmt::format("{} {}", path, verb.name));
  }
}

}  // namespace

std::string fish_completion(std::span<const Command> commands) {
  std::string out =
      "# Completion of treaty for fish. Made by `treaty completion fish`: install it as\n"
      "# ~/.config/fish/completions/treaty.fish.\n\n"
      "function __treaty_is --description 'Whether this is the command'\n"
      "    set -l words (commandline -opc)\n"
      "    set -l last (math (count $argv) + 1)\n"
      "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n\n"
      "function __treaty_is_first --description 'Whether its first argument comes next'\n"
      "    set -l words (commandline -opc)\n"
      "    set -l last (math (count $argv) + 1)\n"
      "    test (count $words) -eq $last; and test \"$words[2..$last]\" = \"$argv\"\n"
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
  for (const Command& command : commands) add_command(out, command, command.name);
  return out;
}

}  // namespace treaty::cli::manual
