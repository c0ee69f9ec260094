#include <fmt/format.h>

#include "treaty/cli/manual/completion.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

// Inside a specification of _arguments and _describe, brackets and colons have a meaning.
std::string plain(std::string_view text) {
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
                                takes_value(option) ? "=" : "", plain(option.help));
  if (!takes_value(option)) return out;
  const std::string message = option.choices.empty() ? option.value : "value";
  return out + fmt::format(":{}:{}", plain(message), action_of(option));
}

std::string command_case(const Command& command) {
  std::vector<std::string> specifications;
  specifications.reserve(command.options.size() + 3);
  for (const Option& option : command.options) specifications.push_back(specification_of(option));
  specifications.emplace_back("--help[Print this help]");
  if (!command.words.empty()) {
    specifications.push_back(fmt::format("1:argument:({})", fmt::join(command.words, " ")));
  }
  if (takes_files(command)) specifications.emplace_back("*:file:_files");
  std::string out = fmt::format("    {})\n      _arguments", command.name);
  for (const std::string& one : specifications) out += " \\\n        " + shell_word(one);
  return out + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(std::span<const Command> commands) {
  std::string out =
      "#compdef treaty\n"
      "# Completion of treaty for zsh. Made by `treaty completion zsh`: install it as _treaty in "
      "a\n"
      "# directory of $fpath, or source it after compinit.\n\n"
      "_treaty() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Command& command : commands) {
    out += fmt::format("    {}\n",
                       shell_word(fmt::format("{}:{}", command.name, plain(command.summary))));
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n"
      "    help)\n"
      "      _describe command commands\n"
      "      ;;\n";
  for (const Command& command : commands) out += command_case(command);
  out +=
      "  esac\n"
      "}\n\n"
      "if [[ $funcstack[1] == _treaty ]]; then\n"
      "  _treaty \"$@\"\n"
      "else\n"
      "  compdef _treaty treaty\n"
      "fi\n";
  return out;
}

}  // namespace treaty::cli
