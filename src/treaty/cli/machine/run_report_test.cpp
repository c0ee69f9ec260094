#include "treaty/cli/machine/run_report.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace treaty::cli {

using store::ExecutionRow;

TEST_CASE("an execution stands where its newest checkpoint says, unless a process has it") {
  CHECK(status_of({.event = "machine_end"}) == ExecutionStatus::completed);
  CHECK(status_of({.event = "machine_error"}) == ExecutionStatus::failed);
  CHECK(status_of({.event = "waiting"}) == ExecutionStatus::waiting);
  CHECK(status_of({.event = "execute"}) == ExecutionStatus::interrupted);
  CHECK(status_of({.event = "waiting", .is_leased = true}) == ExecutionStatus::running);
}

TEST_CASE("a machine waits on the channel of a machine that it runs") {
  const std::vector<ExecutionRow> all = {
      {.execution = "x", .event = "waiting"},
      {.execution = "xy", .event = "waiting", .channel = "b"},
      {.execution = "x.1.0", .event = "waiting", .channel = "c"}};

  CHECK(channel_of(all[0], all) == "c");
  CHECK(channel_of(all[1], all) == "b");
  CHECK(sentence_of(all[0], "c") == "waiting on c");
  CHECK(channel_of({.execution = "x", .event = "execute"}, all).empty());
}

TEST_CASE("what is below an execution has its id and a dot in front") {
  CHECK(is_below("x.1.0", "x"));
  CHECK(is_below("x.1.0.2.0", "x.1.0"));
  CHECK(!is_below("x", "x"));
  CHECK(!is_below("xy", "x"));
}

TEST_CASE("a table of executions keeps foreign text on its line") {
  const ExecutionRow row{.execution = "x1", .machine = "m\n\x1b[31m", .event = "execute"};

  const std::string table = executions_table(std::span(&row, 1), {});

  CHECK(std::count(table.begin(), table.end(), '\n') == 2);
  CHECK(table.find('\x1b') == std::string::npos);
}

}  // namespace treaty::cli
