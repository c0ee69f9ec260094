// `treaty machine check` and `treaty machine graph`: machine files that are not run.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"
#include "treaty/machines/journal/history.h"

namespace treaty::cli::machine_files {
namespace {

Result<int> check(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return misused("which file? - reads standard input");
  }
  if (std::ranges::count(arguments.positionals, "-") > 1) {
    return misused("standard input can be read once");
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

Result<int> draw(const machines::Graph& graph, std::string_view format) {
  if (format == "mermaid" || format == "dot") {
    print_document(format == "dot" ? machines::dot_of(graph) : machines::mermaid_of(graph));
    return kOk;
  }
  if (graph.nodes.size() > machines::kMostDrawnNodes ||
      graph.edges.size() > machines::kMostDrawnEdges) {
    return failed_with(kViolated,
                       fmt::format("{} states and {} ways between them make no picture",
                                   graph.nodes.size(), graph.edges.size()),
                       "--format mermaid or --format dot writes them as text");
  }
  print_document(machines::svg_of(graph));
  return kOk;
}

// The states that an execution visited.
Result<std::vector<std::string>> path_of(const Arguments& arguments) {
  std::vector<std::string> path;
  if (!arguments.has("--execution")) return path;
  const std::string execution = arguments.get("--execution");
  TREATY_TRY(const auto store, open_to_look(arguments, store::Purpose::read));
  TREATY_TRY(const auto record, await_store(store.machines().find_execution(execution)));
  if (!record) {
    return failed_with(kViolated, fmt::format("there is no execution {}; see `treaty machine list`",
                                              harmless(execution)));
  }
  auto account = machines::read_account(record->journal);
  if (!account) {
    return std::unexpected(
        machine_failure({ErrorCode::corrupt, std::move(account.error()), execution}));
  }
  for (machines::StepAccount& step : account->steps) path.push_back(std::move(step.state));
  return path;
}

Result<int> graph(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return misused("one file at a time; - reads standard input");
  }
  CheckedMachine checked = check_machine(arguments.positionals[0], arguments.all("--hook"));
  // A machine with an unknown hook can be drawn all the same: nobody runs it.
  if (!checked.valid()) {
    print_error("{}", human_report(checked, false));
    return kViolated;
  }
  TREATY_TRY(const auto path, path_of(arguments));
  return draw(machines::graph_of(*checked.loaded.machine, path), arguments.get("--format"));
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .positionals = "FILE...|-",
      .summary = "Tell all that is wrong with machine files, by rule, line and column",
      .description =
          R"(Reads flatmachine files (YAML or JSON) and reports every problem at once. `treaty rules
machine` tells what the rules say. FILE may be a glob. Exit 0: all can run, 1: not, 2:
usage.)",
      .options = {format_option(),
                  {"--hook", "NAME", "A hook that your program registers", {}, true}},
      .examples = {{"machine check examples/machines/writer.yml", "Would it run?"},
                   {"machine check 'machines/*.yml' --format json",
                    "One JSON object for each file"}},
      .run = check,
  };
}

Command graph_command() {
  return {
      .name = "graph",
      .positionals = "FILE|-",
      .summary = "Draw a machine as SVG, or write it as the text of a Mermaid or Graphviz chart",
      .description =
          R"(Writes the drawing to standard output. States stand in layers by their distance from the
initial one; on_error is dashed and red, the rate-limit policy dotted.)",
      .options = joined({{
                             {"--format", "", "What to write", {"svg", "mermaid", "dot"}},
                             {"--hook", "NAME", "A hook that your program registers", {}, true},
                             {"--execution", "ID", "Mark the path of this execution"},
                         },
                         machine_store_options()}),
      .examples = {{"machine graph examples/machines/writer.yml > writer.svg", "A picture"},
                   {"machine graph examples/machines/writer.yml --format mermaid",
                    "A chart for a page that draws it"},
                   {"machine graph examples/machines/writer.yml --format dot > writer.dot",
                    "A chart for Graphviz"},
                   {"machine graph writer.yml --execution writer-7 > path.svg",
                    "The way that an execution went"}},
      .run = graph,
  };
}

}  // namespace treaty::cli::machine_files
