// `treaty machine graph`: draws a machine.
#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/try.h"
#include "treaty/base/yaml.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/check_report.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/graph/chart_text.h"
#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"
#include "treaty/machines/journal/account.h"

namespace treaty::cli::machine_graph {
namespace {

constexpr const char* kCommand = "machine graph";

int refuse(const CheckedMachine& checked) {
  print_error("{}", human_report(checked, false));
  return kViolated;
}

int draw(const machines::Graph& graph, std::string_view format) {
  if (format == "mermaid" || format == "dot") {
    print_document(format == "dot" ? machines::dot_of(graph) : machines::mermaid_of(graph));
    return kOk;
  }
  if (graph.nodes.size() > machines::kMostDrawnNodes ||
      graph.edges.size() > machines::kMostDrawnEdges) {
    print_error(
        "treaty {}: {} states and {} ways between them make no picture\n"
        "Next: --format mermaid or --format dot writes them as text\n",
        kCommand, graph.nodes.size(), graph.edges.size());
    return kViolated;
  }
  print_document(machines::svg_of(graph));
  return kOk;
}

// The states that an execution visited. The error is told already: it is the exit code.
std::expected<std::vector<std::string>, int> path_of(const MachineServices& services,
                                                     const Arguments& arguments) {
  std::vector<std::string> path;
  if (!arguments.has("--execution")) return path;
  const std::string execution = arguments.get("--execution");
  TREATY_TRY(const auto store, open_to_look(kCommand, services, arguments, store::Purpose::read));
  const auto record = wait_for(store.machines().find_execution(execution));
  if (!record) return std::unexpected(tell_trouble(kCommand, record.error()));
  if (!*record) {
    print_error("treaty {}: there is no execution {}; see `treaty machine list`\n", kCommand,
                harmless(execution));
    return std::unexpected(kViolated);
  }
  auto account = machines::read_account((*record)->journal);
  if (!account) {
    return std::unexpected(tell_trouble(
        kCommand,
        {.code = ErrorCode::corrupt, .message = std::move(account.error()), .where = execution}));
  }
  for (machines::StepAccount& step : account->steps) path.push_back(std::move(step.state));
  return path;
}

int run(const MachineServices& services, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return wrong_usage(kCommand, "one file at a time; - reads standard input");
  }
  CheckedMachine checked = check_machine(arguments.positionals[0], arguments.all("--hook"));
  // A machine with an unknown hook can be drawn all the same: nobody runs it.
  if (!checked.valid()) return refuse(checked);
  const auto path = path_of(services, arguments);
  if (!path) return path.error();
  return draw(machines::graph_of(*checked.loaded.machine, *path), arguments.get("--format"));
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "graph",
      .positionals = "FILE|-",
      .summary = "Draw a machine as SVG, or write it as the text of a Mermaid or Graphviz chart",
      .description =
          R"(Writes the drawing to standard output. States stand in layers by their distance from the
initial one; on_error is dashed and red, the rate-limit policy dotted.)",
      .options = joined(
          {{
               {"--format", "", "What to write", {"svg", "mermaid", "dot"}},
               {"--hook", "NAME", "A hook that your program registers; may be repeated", {}, true},
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
      .run = [services](const Arguments& arguments) { return run(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_graph
