// `treaty machine graph`: draws a machine.
#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/yaml.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/check_report.h"
#include "treaty/cli/machine/machine_verbs.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"
#include "treaty/machines/graph/mermaid.h"
#include "treaty/machines/graph/svg.h"

namespace treaty::cli {
namespace {

constexpr const char* kCommand = "machine graph";

int refuse(const CheckedMachine& checked) {
  print_error("{}", human_report(checked, false));
  return kViolated;
}

int draw(const machines::Graph& graph, bool is_mermaid) {
  if (is_mermaid) {
    print_document(machines::mermaid_of(graph));
    return kOk;
  }
  if (graph.nodes.size() > machines::kMostDrawnNodes ||
      graph.edges.size() > machines::kMostDrawnEdges) {
    print_error(
        "treaty {}: {} states and {} ways between them make no picture\n"
        "Next: --format mermaid writes them as text\n",
        kCommand, graph.nodes.size(), graph.edges.size());
    return kViolated;
  }
  print_document(machines::svg_of(graph));
  return kOk;
}

int run(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return wrong_usage(kCommand, "one file at a time; - reads standard input");
  }
  CheckedMachine checked = check_machine(arguments.positionals[0], arguments.all("--hook"));
  // A machine with an unknown hook can be drawn all the same: nobody runs it.
  if (!checked.valid()) return refuse(checked);
  return draw(machines::graph_of(*checked.loaded.machine), arguments.get("--format") == "mermaid");
}

}  // namespace

Command machine_graph_command() {
  return {
      .name = "graph",
      .positionals = "FILE|-",
      .summary = "Draw a machine, as SVG or as the text of a Mermaid chart",
      .description =
          "Writes the drawing to standard output. States stand in layers by their distance from "
          "the\n"
          "initial one; on_error is dashed and red, the rate-limit policy dotted.",
      .options =
          {{"--format", "", "What to write", {"svg", "mermaid"}},
           {"--hook", "NAME", "A hook that your program registers; may be repeated", {}, true}},
      .examples = {{"machine graph examples/machines/writer.yml > writer.svg", "A picture"},
                   {"machine graph examples/machines/writer.yml --format mermaid",
                    "A chart for a page that draws it"}},
      .run = run,
  };
}

}  // namespace treaty::cli
