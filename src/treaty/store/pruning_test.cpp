#include <doctest/doctest.h>

#include <algorithm>

#include "treaty/store/machines.h"

namespace treaty::store {
namespace {

using Texts = std::vector<std::string>;

Texts pruned(const std::vector<ExecutionRow>& rows, const PruneQuery& query) {
  Texts names;
  for (const ExecutionRow& row : executions_to_prune(rows, query)) names.push_back(row.execution);
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("prune spares what a machine that waits has started, at every depth") {
  const std::vector<ExecutionRow> rows = {{.execution = "x", .event = "waiting"},
                                          {.execution = "x.2.0", .event = "machine_end"},
                                          {.execution = "x.2.0.1.0", .event = "machine_end"},
                                          {.execution = "xy", .event = "machine_end"},
                                          {.execution = "y.1.0", .event = "machine_end"}};

  CHECK(pruned(rows, {.keep = 0}) == Texts{"xy", "y.1.0"});
}

TEST_CASE("prune takes what a machine has started together with it, or after its end") {
  const std::vector<ExecutionRow> rows = {{.execution = "x", .event = "execute"},
                                          {.execution = "x.2.0", .event = "machine_end"},
                                          {.execution = "y.1.0", .event = "machine_end"},
                                          {.execution = "y", .event = "machine_end"}};

  CHECK(pruned(rows, {.keep = 0}) == Texts{"x", "x.2.0", "y", "y.1.0"});
  CHECK(pruned(rows, {.keep = 1}) == Texts{"y", "y.1.0"});
}

}  // namespace treaty::store
