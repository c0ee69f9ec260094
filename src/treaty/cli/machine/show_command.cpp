// `treaty machine show`.
#include <algorithm>

#include "treaty/base/json_dynamic.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/execution_report.h"
#include "treaty/cli/machine/execution_status.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/machine/store_access.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::cli::machine_show {
namespace {

constexpr const char* kShow = "machine show";
constexpr std::string_view kAddress = "flatagents://";
constexpr std::string_view kResult = "/result";

struct Wanted {
  std::string execution;
  bool only_result = false;
};

Wanted wanted_by(const std::string& word) {
  if (!word.starts_with(kAddress) || !word.ends_with(kResult)) return {.execution = word};
  const std::size_t size = word.size() - kAddress.size() - kResult.size();
  return {.execution = word.substr(kAddress.size(), size), .only_result = true};
}

int unknown(const std::string& execution) {
  print_error("treaty {}: there is no execution {}; see `treaty machine list`\n", kShow,
              harmless(execution));
  return kViolated;
}

int unreadable(const std::string& execution, std::string why) {
  return tell_trouble(kShow,
                      {.code = ErrorCode::corrupt, .message = std::move(why), .where = execution});
}

int print_result(const ExecutionView& view) {
  if (view.is_completed()) {
    json::Writer writer;
    json::write(writer, view.output());
    print_document(writer.take() + "\n");
    return kOk;
  }
  const ExecutionStatus status = status_of(view.row);
  const bool has_failed = status == ExecutionStatus::failed && view.account.ended;
  print_error("treaty {}: {} {}{}\n{}\n", kShow, harmless(view.row.execution),
              has_failed ? "failed: " : "is ",
              has_failed ? harmless(machines::sentence_of(view.account.ended->error))
                         : sentence_of(view.row, view.channel),
              next_step_of(view));
  return status == ExecutionStatus::failed ? kViolated : kMachineWaits;
}

int show(const MachineServices& services, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return wrong_usage(kShow, "name one execution; `treaty machine list` lists them");
  }
  const Wanted wanted = wanted_by(arguments.positionals.front());
  const auto store = open_to_look(kShow, services, arguments, store::Purpose::read);
  if (!store) return store.error();
  const auto record = wait_for(store->machines().find_execution(wanted.execution));
  if (!record) return tell_trouble(kShow, record.error());
  const auto all = wait_for(store->machines().list_executions());
  if (!all) return tell_trouble(kShow, all.error());
  const auto row = std::ranges::find(*all, wanted.execution, &store::ExecutionRow::execution);
  if (!*record || row == all->end()) return unknown(wanted.execution);

  auto snapshot = machines::read_snapshot((*record)->snapshot);
  if (!snapshot) return unreadable(wanted.execution, std::move(snapshot.error()));
  auto account = machines::read_account((*record)->journal);
  if (!account) return unreadable(wanted.execution, std::move(account.error()));
  ExecutionView view{.row = *row,
                     .channel = channel_of(*row, *all),
                     .snapshot = std::move(*snapshot),
                     .account = std::move(*account)};
  if (arguments.has("--store")) {
    view.place = " --store " + shell_word(harmless(arguments.get("--store")));
  }
  std::ranges::copy_if(*all, std::back_inserter(view.children), [&](const auto& other) {
    return is_below(other.execution, wanted.execution);
  });
  std::ranges::sort(view.children, {}, &store::ExecutionRow::execution);
  if (wanted.only_result) return print_result(view);
  if (wants_json(arguments)) {
    print_document(view_json(view) + "\n");
  } else {
    print("{}", view_text(view));
  }
  return kOk;
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "show",
      .positionals = "ID",
      .summary = "Show an execution: steps, calls, waits, context, output or error",
      .description =
          "`flatagents://ID/result`, the address of a launched machine's result, prints the "
          "output\n"
          "alone. Exit: 0 done, 1 no such execution, or a result that is a failure, 2 wrong "
          "usage,\n"
          "3 no result yet, 69 no store or none that can be used, 78 a configuration that is not\n"
          "in order.",
      .options = looking_options(),
      .examples = {{"machine show writer-7", "All that is known of it, and what to do next"},
                   {"machine show writer-7 --format json", "The same for a program"},
                   {"machine show flatagents://writer-7/result", "Only its output"}},
      .run = [services](const Arguments& arguments) { return show(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_show
