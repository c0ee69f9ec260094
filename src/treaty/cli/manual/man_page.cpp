#include <fmt/format.h>

#include "treaty/base/text.h"
#include "treaty/cli/manual/manual.h"

namespace treaty::cli::manual {
namespace {

// Text that roff prints as it is: no requests, no escapes, hyphens that can be copied.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'' && (out.empty() || out.ends_with('\n'))) {
      out += "\\&'";
    } else if (c == '.' && (out.empty() || out.ends_with('\n'))) {
      out += "\\&.";
    } else {
      out += c;
    }
  }
  return out;
}

// An argument of a macro.
std::string argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : plain(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + "\"";
}

void add_options(std::string& out, const Command& command) {
  for (const Option& option : command.options) {
    const std::string value =
        option.choices.empty() ? option.value : fmt::format("{}", fmt::join(option.choices, "|"));
    out += fmt::format(
        ".TP\n\\fB{}\\fR{}{}\n{}{}{}.\n", plain(option.name), value.empty() ? "" : " ",
        value.empty() ? "" : fmt::format("\\fI{}\\fR", plain(value)), plain(option.help),
        option.choices.empty() ? "" : fmt::format(" (default {})", plain(option.choices[0])),
        option.repeatable ? "; may be repeated" : "");
  }
}

void add_section(std::string& out, const Command& command, const std::string& path) {
  const std::string positionals = command.is_choice() ? "COMMAND [ARGUMENTS]" : command.positionals;
  out += fmt::format(
      ".SS {}\n",
      argument(fmt::format("treaty {}{}{}", path, positionals.empty() ? "" : " ", positionals)));
  out += fmt::format("{}.\n.PP\n{}\n", plain(command.summary), plain(command.description));
  add_options(out, command);
  for (const Example& example : command.examples) {
    out += fmt::format(".PP\n{}:\n.RS\n.EX\n{}\n.EE\n.RE\n", plain(example.purpose),
                       plain("treaty " + example.command));
  }
  for (const Command& verb : command.verbs) {
    add_section(out, verb, fmt::format("{} {}", path, verb.name));
  }
}

struct Named {
  std::string_view name;
  std::string_view meaning;
};

constexpr Named kExits[] = {
    {"0", "All went well."},
    {"1", "A contract is violated, or the job failed."},
    {"2", "Wrong usage; nothing was done."},
    {"69", "Somebody or something that is needed is not there."},
    {"75", "Try again later."},
    {"78", "The configuration is not in order; nothing was done."},
    {"130", "Interrupted."},
};

constexpr Named kVariables[] = {
    {"TREATY_CONFIG", "The configuration, when --config does not name one."},
    {"TREATY_LISTEN", "Where to listen, when --listen does not say."},
    {"XDG_STATE_HOME", "The journal is in treaty/treaty.db below it (else below ~/.local/state)."},
    {"OPENAI_API_KEY, ANTHROPIC_API_KEY…",
     "Keys of providers; without a configuration the first "
     "one that is set says who answers."},
    {"NO_COLOR", "No colours, not even on a terminal."},
};

void add_list(std::string& out, std::string_view title, std::span<const Named> entries) {
  out += fmt::format(".SH {}\n", title);
  for (const auto& [name, meaning] : entries) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(name), plain(meaning));
  }
}

}  // namespace

std::string man_page(std::span<const Command> commands) {
  std::string out =
      fmt::format(".TH TREATY 1 \"\" \"treaty {}\" \"User Commands\"\n", plain(TREATY_VERSION));
  out +=
      ".SH NAME\ntreaty \\- the contracts between agents and the products around them, made real\n"
      ".SH SYNOPSIS\n\\fBtreaty\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH DESCRIPTION\n"
      "A gateway that takes agent requests over HTTP, runs them on any provider and journals what\n"
      "it answers; a linter of documents; a mock of providers. "
      "\\fBtreaty\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR tells about one command.\n"
      ".SH COMMANDS\n";
  for (const Command& command : commands) add_section(out, command, command.name);
  add_list(out, "EXIT STATUS", kExits);
  add_list(out, "ENVIRONMENT", kVariables);
  out +=
      ".SH FILES\n.TP\n\\fItreaty.yaml\\fR\nThe configuration, in the directory where the command "
      "runs.\n";
  return out;
}

}  // namespace treaty::cli::manual
