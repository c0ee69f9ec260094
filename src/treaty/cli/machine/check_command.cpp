// `treaty machine check`: what is wrong with machine files, all at once.
#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/check_report.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::machine_check {
namespace {

constexpr const char* kCommand = "machine check";

int run(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return wrong_usage(kCommand, "which file? - reads standard input");
  }
  if (std::ranges::count(arguments.positionals, "-") > 1) {
    return wrong_usage(kCommand, "standard input can be read once");
  }
  const bool is_json = wants_json(arguments);
  const bool colors = stdout_has_colors();
  CheckTally tally;
  for (const auto& path : expand_paths(arguments.positionals, Expand::globs)) {
    const CheckedMachine checked =
        path ? check_machine(*path, arguments.all("--hook"))
             : CheckedMachine{.file = path.error().where, .trouble = path.error().message};
    checked.count(tally);
    if (is_json) {
      print_document(repaired_utf8(json_report(checked)));
    } else {
      print("{}", human_report(checked, colors));
    }
  }
  if (!is_json) print("{}", human_summary(tally, colors));
  return tally.refused == 0 ? kOk : kViolated;
}

}  // namespace

Command command() {
  return {
      .name = "check",
      .positionals = "FILE...|-",
      .summary = "Tell all that is wrong with machine files, by rule, line and column",
      .description =
          R"(Reads flatmachine files (YAML or JSON) and reports every problem at once. `treaty rules
machine` tells what the rules say. FILE may be a glob. Exit 0: all can run, 1: not, 2:
usage.)",
      .options =
          {format_option(),
           {"--hook", "NAME", "A hook that your program registers; may be repeated", {}, true}},
      .examples = {{"machine check examples/machines/writer.yml", "Would it run?"},
                   {"machine check 'machines/*.yml' --format json",
                    "One JSON object for each file"}},
      .run = run,
  };
}

}  // namespace treaty::cli::machine_check
