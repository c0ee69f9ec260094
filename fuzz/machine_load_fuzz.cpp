// Fuzzes machine files: what is read can be drawn, what is refused says where, inside of the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "require.h"
#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"
#include "treaty/machines/load.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

void require_inside(const Diagnostic& finding, std::string_view text) {
  require(!finding.message.empty() && !finding.rule.empty());
  require(finding.line >= 1 && finding.column >= 1 && finding.offset <= text.size());
  require(finding.line <= 1 + std::ranges::count(text, '\n'));
  require(finding.where.empty() || finding.where.starts_with('/'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const machines::Loaded loaded = machines::load_machine(text, {});
  require((loaded.machine == nullptr) == !loaded.violations.empty());
  for (const Diagnostic& finding : loaded.violations) require_inside(finding, text);
  for (const Diagnostic& finding : loaded.warnings) require_inside(finding, text);
  require(loaded.violations.size() + loaded.warnings.size() <= machines::kMostListed);
  if (!loaded.machine) return 0;
  require(!loaded.machine->states.empty());
  require(machines::load_machine(loaded.machine->text, {}).machine != nullptr);
  const machines::Graph graph = machines::graph_of(*loaded.machine, {"start", "end"});
  require(!machines::mermaid_of(graph).empty());
  if (graph.nodes.size() <= machines::kMostDrawnNodes) {
    require(machines::svg_of(graph).ends_with("</svg>\n"));
  }
  return 0;
}
