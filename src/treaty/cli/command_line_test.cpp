#include "treaty/cli/command_line.h"

#include <doctest/doctest.h>

#include "treaty/cli/manual/manual.h"

namespace treaty::cli {
namespace {

// A table with one command that has verbs, one that has none and one that has both, and what was
// run last.
struct Table {
  std::string ran;
  Arguments arguments;

  std::function<int(const Arguments&)> noting(const std::string& name) {
    return [this, name](const Arguments& given) {
      ran = name;
      arguments = given;
      return kOk;
    };
  }

  std::vector<Command> commands() {
    const Command drive = {.name = "drive",
                           .positionals = "-- PROGRAM",
                           .summary = "Drives",
                           .description = "It drives.",
                           .options = {{"--times", "N", "How often"}, {"--dir", "DIR", "Where"}},
                           .run = noting("bridge drive")};
    const Command look = {.name = "look",
                          .positionals = "",
                          .summary = "Looks",
                          .description = "It looks.",
                          .run = noting("bridge look")};
    return {{.name = "bridge",
             .positionals = "",
             .summary = "Files",
             .description = "By files.",
             .verbs = {drive, look}},
            {.name = "check",
             .positionals = "FILE...",
             .summary = "Checks",
             .description = "It checks.",
             .options = {{"--fix", "", "Mends"}},
             .run = noting("check")},
            {.name = "read",
             .positionals = "[FILE]",
             .summary = "Reads",
             .description = "It reads.",
             .options = {{"--all", "", "Everything"}},
             .run = noting("read"),
             .verbs = {look}}};
  }

  int run(std::vector<const char*> words) {
    words.insert(words.begin(), "treaty");
    return run_command_line(commands(), static_cast<int>(words.size()), words.data());
  }
};

TEST_CASE("A verb is run as a command of its own") {
  Table table;

  CHECK(table.run({"bridge", "drive", "--times", "3", "prog"}) == kOk);

  CHECK(table.ran == "bridge drive");
  CHECK(table.arguments.get("--times") == "3");
  CHECK(table.arguments.positionals == std::vector<std::string>{"prog"});
}

TEST_CASE("What stands behind -- reaches the command word for word") {
  Table table;

  CHECK(table.run({"bridge", "drive", "--times", "3", "--", "prog", "--times", "4", "--help", "--",
                   "[x]", "-d", "%%", ""}) == kOk);

  CHECK(table.arguments.get("--times") == "3");
  CHECK(table.arguments.positionals ==
        std::vector<std::string>{"prog", "--times", "4", "--help", "--", "[x]", "-d", "%%", ""});
}

TEST_CASE("Behind -- of a command without verbs stand files, too") {
  Table table;

  CHECK(table.run({"check", "a", "--fix", "--", "--fix"}) == kOk);

  CHECK(table.arguments.has("--fix"));
  CHECK(table.arguments.positionals == std::vector<std::string>{"a", "--fix"});
}

TEST_CASE("A command beside its verbs takes every word that names none of them") {
  Table table;

  CHECK(table.run({"read", "look"}) == kOk);
  CHECK(table.ran == "bridge look");

  CHECK(table.run({"read", "--all", "file"}) == kOk);
  CHECK(table.ran == "read");
  CHECK(table.arguments.positionals == std::vector<std::string>{"file"});

  CHECK(table.run({"read", "./look"}) == kOk);
  CHECK(table.ran == "read");

  CHECK(table.run({"read", "--all", "look"}) == kOk);
  CHECK(table.ran == "read");

  CHECK(table.run({"read"}) == kOk);
  CHECK(table.arguments.positionals.empty());
}

TEST_CASE("Completions and the manual know a command beside its verbs") {
  Table table;

  CHECK(manual::bash_completion(table.commands()).contains("options='--all --help'"));
  CHECK(manual::zsh_completion(table.commands()).contains("'1:argument:{compadd look; _files}'"));
  CHECK(manual::fish_completion(table.commands())
            .contains("'__treaty_is read; and not __treaty_is read look' -l all"));
  CHECK(manual::man_page(table.commands()).contains("treaty read [FILE]"));
  CHECK(manual::man_page(table.commands()).contains("treaty read look"));
}

TEST_CASE("Completions and the manual know the verbs and their options") {
  Table table;

  CHECK(manual::bash_completion(table.commands()).contains("words='drive look'"));
  CHECK(manual::bash_completion(table.commands()).contains("options='--times --dir --help'"));
  CHECK(manual::zsh_completion(table.commands()).contains("drive:Drives"));
  CHECK(manual::zsh_completion(table.commands()).contains("'--times=[How often]"));
  CHECK(manual::fish_completion(table.commands()).contains("'__treaty_is bridge drive' -l times"));
  CHECK(manual::man_page(table.commands()).contains("treaty bridge drive \\-\\- PROGRAM"));
}

}  // namespace
}  // namespace treaty::cli
