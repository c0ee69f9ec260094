#include <fmt/format.h>

#include "treaty/cli/manual/manual.h"

namespace treaty::cli::manual {
namespace {

std::string value_of(const Option& option) {
  switch (completes(option)) {
    case Completes::words: return fmt::format("'words {}'", fmt::join(option.choices, " "));
    case Completes::files: return "files";
    case Completes::directories: return "directories";
    case Completes::nothing: break;
  }
  return "";
}

// What bash needs to know of a command: `words` for its first argument, `options`, those `valued`
// that take a value, and whether `files`, `directories` or a `program` may be arguments.
std::string leaf_lines(const Command& command, const std::string& indent) {
  std::vector<std::string> options;
  std::vector<std::string> valued;
  std::string values;
  for (const Option& option : command.options) {
    options.push_back(option.name);
    if (!takes_value(option)) continue;
    valued.push_back(option.name);
    const std::string value = value_of(option);
    if (!value.empty()) {
      values += fmt::format("{}    {}) value={} ;;\n", indent, option.name, value);
    }
  }
  options.emplace_back("--help");
  std::string out;
  const auto line = [&](const std::string& text) { out += fmt::format("{}  {}\n", indent, text); };
  line(fmt::format("options='{}'", fmt::join(options, " ")));
  line(fmt::format("valued=' {} '", fmt::join(valued, " ")));
  if (command.has_both()) {
    line(fmt::format("words='{}'", names_of(command.verbs)));
  } else if (!command.words.empty()) {
    line(fmt::format("words='{}'", fmt::join(command.words, " ")));
  }
  if (takes_files(command)) line("files=yes");
  if (takes_directories(command)) line("directories=yes");
  if (takes_program(command)) line("program=yes");
  if (!values.empty()) {
    line("case $before in");
    out += values;
    line("esac");
  }
  return out;
}

// `place` says which word the command is: verbs stand behind what they are verbs of.
std::string command_case(const Command& command, std::size_t place) {
  const std::string indent(place * 6 - 2, ' ');
  std::string out = fmt::format("{}{})\n", indent, command.name);
  const auto line = [&](const std::string& text) { out += fmt::format("{}  {}\n", indent, text); };
  if (!command.is_choice()) out += leaf_lines(command, indent);
  if (command.verbs.empty()) return out + fmt::format("{}  ;;\n", indent);
  if (command.is_choice()) {
    line(fmt::format("first={} options='--help' words='{}'", place + 1, names_of(command.verbs)));
  }
  std::string condition = fmt::format("((COMP_CWORD > {}))", place + 1);
  if (command.has_both()) {
    condition += fmt::format(" && [[ ' {} ' == *\" ${{COMP_WORDS[{}]}} \"* ]]",
                             names_of(command.verbs), place + 1);
  }
  line(fmt::format("if {}; then", condition));
  line(fmt::format("  first={} options='' valued='' words='' value=''", place + 2));
  line("  files='' directories='' program=''");
  line(fmt::format("  case ${{COMP_WORDS[{}]}} in", place + 1));
  for (const Command& verb : command.verbs) out += command_case(verb, place + 1);
  line("  esac");
  line("fi");
  line(";;");
  return out;
}

// After `help` come names.
std::string help_case(std::span<const Command> commands) {
  std::string out = fmt::format("    help)\n      words='{}'\n      case ${{COMP_WORDS[2]}} in\n",
                                names_of(commands));
  for (const Command& command : commands) {
    if (command.verbs.empty()) continue;
    out +=
        fmt::format("        {}) first=3 words='{}' ;;\n", command.name, names_of(command.verbs));
  }
  return out + "      esac\n      ;;\n";
}

constexpr std::string_view kHead =
    R"(# Completion of treaty for bash. Made by `treaty completion bash`: source it, or install it as
# /usr/share/bash-completion/completions/treaty.

_treaty_reply() {
  mapfile -t COMPREPLY < <(compgen "$@")
}

_treaty() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local options='' valued='' words='' files='' directories='' program='' value='' first=2 arguments=0 i
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";

constexpr std::string_view kTail = R"(  esac
  # Behind -- everything is somebody else's: first a program, where one is driven.
  for ((i = first; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] || continue
    compopt -o filenames 2>/dev/null
    if [[ -n $program ]] && ((i == COMP_CWORD - 1)); then
      _treaty_reply -c -f -- "$current"
    else
      _treaty_reply -f -- "$current"
    fi
    return
  done
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
  for ((i = first; i < COMP_CWORD; ++i)); do
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
  elif [[ -n $directories ]]; then
    compopt -o filenames 2>/dev/null
    _treaty_reply -d -- "$current"
  else
    _treaty_reply -W "$words" -- "$current"
  fi
}

complete -F _treaty treaty
)";

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  const std::string names = names_of(commands);
  std::string out(kHead);
  out += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n"
      "    _treaty_reply -W '{} help --help --version' -- \"$current\"\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      names);
  out += help_case(commands);
  for (const Command& command : commands) out += command_case(command, 1);
  out += kTail;
  return out;
}

}  // namespace treaty::cli::manual
