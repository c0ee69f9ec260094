#include <fmt/format.h>

#include "treaty/cli/manual/manual.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::manual {
namespace {

// Inside a specification of _arguments and _describe, brackets and colons have a meaning.
std::string zsh_plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\[]:").contains(c)) out += '\\';
    out += c;
  }
  return out;
}

std::string action_of(const Option& option) {
  switch (completes(option)) {
    case Completes::words: return fmt::format("({})", fmt::join(option.choices, " "));
    case Completes::files: return "_files";
    case Completes::directories: return "_files -/";
    case Completes::nothing: return " ";
  }
  return " ";
}

std::string specification_of(const Option& option) {
  std::string out = fmt::format("{}{}{}[{}]", option.repeatable ? "*" : "", option.name,
                                takes_value(option) ? "=" : "", zsh_plain(option.help));
  if (!takes_value(option)) return out;
  const std::string message = option.choices.empty() ? option.value : "value";
  return out + fmt::format(":{}:{}", zsh_plain(message), action_of(option));
}

// The names with what they are for, as _describe wants them; then, when another word is being
// completed, the case of the one that stands there.
std::string choice_of(std::span<const Command> commands, std::string_view array,
                      const std::string& indent);

std::string arguments_of(const Command& command, const std::string& indent) {
  std::vector<std::string> specifications;
  specifications.reserve(command.options.size() + 4);
  for (const Option& option : command.options) specifications.push_back(specification_of(option));
  specifications.emplace_back("--help[Print this help]");
  if (command.has_both()) {
    specifications.push_back(
        fmt::format("1:argument:{{compadd {}; _files}}", names_of(command.verbs)));
  } else if (!command.words.empty()) {
    specifications.push_back(fmt::format("1:argument:({})", fmt::join(command.words, " ")));
  }
  if (takes_files(command)) specifications.emplace_back("*:file:_files");
  if (takes_directories(command)) specifications.emplace_back("*:directory:_files -/");
  if (takes_program(command)) {
    specifications.emplace_back("(-)1:program:_command_names -e");
    specifications.emplace_back("*::arguments:_normal");
  }
  std::string out = indent + "_arguments";
  for (const std::string& one : specifications) {
    out += fmt::format(" \\\n{}  {}", indent, shell_word(one));
  }
  return out + "\n";
}

std::string command_case(const Command& command, const std::string& indent) {
  std::string out = fmt::format("{}{})\n", indent, command.name);
  if (command.verbs.empty()) out += arguments_of(command, indent + "  ");
  if (command.has_both()) {
    out += fmt::format("{}  if (( CURRENT == 2 )) || [[ ' {} ' != *\" $words[2] \"* ]]; then\n",
                       indent, names_of(command.verbs));
    out += arguments_of(command, indent + "    ");
    out += fmt::format("{}    return\n{}  fi\n", indent, indent);
  }
  if (!command.verbs.empty()) out += choice_of(command.verbs, "verbs", indent + "  ");
  return out + fmt::format("{}  ;;\n", indent);
}

std::string choice_of(std::span<const Command> commands, std::string_view array,
                      const std::string& indent) {
  std::string out;
  const auto line = [&](const std::string& text) { out += fmt::format("{}{}\n", indent, text); };
  line(fmt::format("local -a {}", array));
  line(fmt::format("{}=(", array));
  for (const Command& command : commands) {
    line("  " + shell_word(fmt::format("{}:{}", command.name, zsh_plain(command.summary))));
  }
  line(")");
  line("if (( CURRENT == 2 )); then");
  line(fmt::format("  _describe command {}", array));
  line("  return");
  line("fi");
  line("command=$words[2]");
  line("shift words");
  line("(( CURRENT-- ))");
  line("case $command in");
  for (const Command& command : commands) out += command_case(command, indent + "  ");
  if (array == "commands") {
    line("  help)");
    line(fmt::format("    _describe command {}", array));
    line("    ;;");
  }
  line("esac");
  return out;
}

}  // namespace

std::string zsh_completion(std::span<const Command> commands) {
  return "#compdef treaty\n"
         "# Completion of treaty for zsh. Made by `treaty completion zsh`: install it as _treaty "
         "in "
         "a\n"
         "# directory of $fpath, or source it after compinit.\n\n"
         "_treaty() {\n"
         "  local command\n" +
         choice_of(commands, "commands", "  ") +
         "}\n\n"
         "if [[ $funcstack[1] == _treaty ]]; then\n"
         "  _treaty \"$@\"\n"
         "else\n"
         "  compdef _treaty treaty\n"
         "fi\n";
}

}  // namespace treaty::cli::manual
