#include <fmt/format.h>

#include "treaty/cli/manual/completion.h"

namespace treaty::cli {
namespace {

// What bash needs to know of a command: `words` for its first argument, `options`, those `valued`
// that take a value, and whether `files` may be arguments.
std::string command_case(const Command& command) {
  std::vector<std::string> options;
  std::vector<std::string> valued;
  std::string values;
  for (const Option& option : command.options) {
    options.push_back(option.name);
    if (!takes_value(option)) continue;
    valued.push_back(option.name);
    switch (completes(option)) {
      case Completes::words:
        values += fmt::format("        {}) value='words {}' ;;\n", option.name,
                              fmt::join(option.choices, " "));
        break;
      case Completes::files:
        values += fmt::format("        {}) value=files ;;\n", option.name);
        break;
      case Completes::directories:
        values += fmt::format("        {}) value=directories ;;\n", option.name);
        break;
      case Completes::nothing: break;
    }
  }
  options.emplace_back("--help");
  std::string out = fmt::format("    {})\n", command.name);
  out += fmt::format("      options='{}'\n", fmt::join(options, " "));
  out += fmt::format("      valued=' {} '\n", fmt::join(valued, " "));
  if (!command.words.empty()) {
    out += fmt::format("      words='{}'\n", fmt::join(command.words, " "));
  }
  if (takes_files(command)) out += "      files=yes\n";
  if (!values.empty()) out += fmt::format("      case $before in\n{}      esac\n", values);
  return out + "      ;;\n";
}

constexpr std::string_view kHead =
    R"(# Completion of treaty for bash. Made by `treaty completion bash`: source it, or install it as
# /usr/share/bash-completion/completions/treaty.

_treaty_reply() {
  mapfile -t COMPREPLY < <(compgen "$@")
}

_treaty() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local options='' valued='' words='' files='' value='' arguments=0 i
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";

constexpr std::string_view kTail = R"(  esac
  if [[ -n $before && $valued == *" $before "* ]]; then
    case $value in
      words*) _treaty_reply -W "${value#words }" -- "$current" ;;
      files) compopt -o filenames 2>/dev/null; _treaty_reply -f -- "$current" ;;
      directories) compopt -o filenames 2>/dev/null; _treaty_reply -d -- "$current" ;;
    esac
    return
  fi
  if [[ $current == -* ]]; then
    _treaty_reply -W "$options" -- "$current"
    return
  fi
  for ((i = 2; i < COMP_CWORD; ++i)); do
    if [[ $valued == *" ${COMP_WORDS[i]} "* ]]; then
      [[ ${COMP_WORDS[i+1]} == '=' ]] && ((++i))
      ((++i))
    elif [[ ${COMP_WORDS[i]} != -* ]]; then
      ((++arguments))
    fi
  done
  ((arguments > 0)) && words=''
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; compgen -f -- "$current")
  else
    _treaty_reply -W "$words" -- "$current"
  fi
}

complete -F _treaty treaty
)";

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  std::string out(kHead);
  out += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n"
      "    _treaty_reply -W '{} help --help --version' -- \"$current\"\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "    help) words='{}' ;;\n",
      fmt::join(names, " "), fmt::join(names, " "));
  for (const Command& command : commands) out += command_case(command);
  out += kTail;
  return out;
}

}  // namespace treaty::cli
