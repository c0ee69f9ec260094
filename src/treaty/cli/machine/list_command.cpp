// `treaty machine list`.
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/execution_status.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::machine_list {
namespace {

constexpr const char* kList = "machine list";

int list(const MachineServices& services, const Arguments& arguments) {
  const auto store = open_to_look(kList, services, arguments, store::Purpose::read);
  if (!store) return store.error();
  const auto all = wait_for(store->machines().list_executions());
  if (!all) return tell_trouble(kList, all.error());
  std::vector<store::ExecutionRow> rows = *all;
  const bool only_waiting = arguments.has("--waiting");
  if (only_waiting) {
    std::erase_if(rows, [](const store::ExecutionRow& row) {
      return status_of(row) != ExecutionStatus::waiting;
    });
  }
  if (wants_json(arguments)) {
    for (const store::ExecutionRow& row : rows) {
      print_document(execution_json(row, channel_of(row, *all)) + "\n");
    }
  } else if (rows.empty()) {
    print("no executions{}\n", only_waiting ? " wait" : "");
  } else {
    print("{}", executions_table(rows, *all));
  }
  return kOk;
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "list",
      .positionals = "",
      .summary = "List executions and where they stand, the newest first",
      .description =
          R"(running: a process has it. waiting: for a signal. interrupted: it goes on with `treaty
machine resume`. Machines that others have started are listed too: their ids begin
with that of the other one. JSON is one object a line. Exit: 0 done, 69 no store or
none that can be used, 78 a configuration that is not in order.)",
      .options =
          joined({{{"--waiting", "", "Only those that wait for a signal"}}, looking_options()}),
      .examples = {{"machine list", "All executions of the configured store"},
                   {"machine list --store runs --waiting --format json",
                    "Those in a directory that wait, for a program"}},
      .run = [services](const Arguments& arguments) { return list(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_list
