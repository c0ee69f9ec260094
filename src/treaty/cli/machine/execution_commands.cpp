// `treaty machine list`, `show` and `prune`: executions that a store keeps.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "treaty/base/clock.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/json_text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/sessions/session_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/journal/history.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::cli::machine_executions {
namespace {

Result<int> list(const Arguments& arguments) {
  TREATY_TRY(const auto store, open_or_empty(arguments));
  TREATY_TRY(const auto all, await_store(store.machines().list_executions()));
  std::vector<store::ExecutionRow> rows = all;
  const bool only_waiting = arguments.has("--waiting");
  if (only_waiting) {
    std::erase_if(rows, [](const store::ExecutionRow& row) {
      return status_of(row) != ExecutionStatus::waiting;
    });
  }
  if (wants_json(arguments)) {
    for (const store::ExecutionRow& row : rows) {
      print_document(execution_json(row, channel_of(row, all)) + "\n");
    }
  } else if (rows.empty()) {
    print("no executions{}\n", only_waiting ? " wait" : "");
  } else {
    print("{}", executions_table(rows, all));
  }
  return kOk;
}

Result<store::PruneQuery> read_query(const Arguments& arguments) {
  store::PruneQuery query{.only_count = arguments.has("--dry-run")};
  if (!arguments.has("--older-than") && !arguments.has("--keep")) {
    return misused("say what shall go: --older-than 30d, --keep 100, or both");
  }
  if (arguments.has("--older-than")) {
    const auto age = read_age(arguments.get("--older-than"));
    if (!age) return misused("--older-than is a time like 12h, 30d or 8w");
    query.before = unix_milliseconds(std::chrono::system_clock::now()) - *age;
  }
  if (arguments.has("--keep")) {
    TREATY_TRY(const auto keep, read_count(arguments, "--keep", 0, 0));
    query.keep = static_cast<std::size_t>(keep);
  }
  return query;
}

Result<int> prune(const Arguments& arguments) {
  TREATY_TRY(const auto query, read_query(arguments));
  const auto purpose = query.only_count ? store::Purpose::read : store::Purpose::maintain;
  TREATY_TRY(const auto store, open_to_look(arguments, purpose));
  TREATY_TRY(const auto pruned, await_store(store.machines().prune_executions(query)));
  if (wants_json(arguments)) {
    print_json({{"count", pruned.size()}, {"executions", pruned}, {"dry_run", query.only_count}});
  } else {
    print("{} {}\n", query.only_count ? "would delete" : "deleted",
          counted(pruned.size(), "execution"));
  }
  return kOk;
}

struct ExecutionView {
  store::ExecutionRow row{};
  std::string channel{};  // That it waits on, or a machine that it runs.
  machines::Snapshot snapshot{};
  machines::Account account{};
  std::vector<store::ExecutionRow> children{};
  std::string place{};  // What a command that goes on needs besides: " --store runs".

  bool is_completed() const { return status_of(row) == ExecutionStatus::completed; }

  // Of a completed one.
  machines::Dynamic output() const {
    const bool is_told = account.ended && account.ended->status == machines::Status::completed;
    return is_told ? account.ended->output : snapshot.output;
  }
};

using machines::StepAccount;

std::string compact(const machines::Dynamic& value) { return harmless(json::to_json(value)); }

bool has_failed(const ExecutionView& view) {
  return status_of(view.row) == ExecutionStatus::failed && view.account.ended &&
         !view.account.ended->error.empty();
}

// --- For programs

void write_call(json::Writer& writer, const machines::CallAccount& call) {
  writer.begin_object().member("agent", call.agent);
  if (!call.finish_reason.empty()) writer.member("finish_reason", call.finish_reason);
  if (!call.error.empty()) json::write(writer.name("error"), call.error);
  writer.end_object();
}

void write_step(json::Writer& writer, const StepAccount& step) {
  writer.begin_object().member("step", step.step).member("state", step.state);
  if (!step.calls.empty()) {
    writer.name("calls").array(step.calls, [&](const auto& call) { write_call(writer, call); });
  }
  if (!step.tools.empty()) writer.name("tools").raw(json::ValueText(step.tools).text());
  if (!step.waits.empty()) writer.member("waits", step.waits);
  if (step.signal) json::write(writer.name("signal"), *step.signal);
  if (!step.redirect.empty()) writer.member("redirect", step.redirect);
  writer.end_object();
}

void write_end(json::Writer& writer, const ExecutionView& view) {
  if (view.is_completed()) json::write(writer.name("output"), view.output());
  if (has_failed(view)) json::write(writer.name("error"), view.account.ended->error);
  if (!view.channel.empty()) writer.member("channel", view.channel);
}

// --- For people

std::string line_of(const StepAccount& step) {
  std::string out = fmt::format("  {:>3} {}\n", step.step, harmless(step.state));
  for (const machines::CallAccount& call : step.calls) {
    const std::string end =
        call.error.empty() ? call.finish_reason : machines::sentence_of(call.error);
    out += fmt::format("      asked {}{}\n", harmless(call.agent),
                       end.empty() ? "" : ": " + harmless(end));
  }
  for (const std::string& tool : step.tools) out += fmt::format("      used {}\n", harmless(tool));
  for (const double wait : step.waits) out += fmt::format("      waited {} s\n", wait);
  for (const machines::Outcome& child : step.children) {
    out += fmt::format("      ran {}: {}\n", harmless(child.execution), name_of(child.status));
  }
  if (step.signal) out += fmt::format("      got {}\n", compact(*step.signal));
  if (!step.redirect.empty()) {
    out += fmt::format("      a hook went to {}\n", harmless(step.redirect));
  }
  return out;
}

std::string end_text(const ExecutionView& view) {
  if (view.is_completed()) return fmt::format("output\n{}\n", json_lines_of(view.output()));
  if (!has_failed(view)) return "";
  const machines::Object& error = view.account.ended->error;
  return fmt::format("error\n  {} ({})\n", harmless(machines::sentence_of(error)),
                     harmless(machines::text_of(error, "code")));
}

std::string view_json(const ExecutionView& view) {
  json::Writer writer;
  writer.begin_object()
      .member("execution_id", view.row.execution)
      .member("machine", view.row.machine)
      .member("status", name_of(status_of(view.row)))
      .member("state", view.row.state)
      .member("event", view.row.event)
      .member("step", view.row.step);
  write_end(writer, view);
  json::write(writer.name("input"), view.account.beginning.input);
  const auto& steps = view.account.steps;
  writer.name("path").array(steps, [&](const auto& step) { writer.value(step.state); });
  writer.name("steps").array(steps, [&](const auto& step) { write_step(writer, step); });
  writer.name("children").array(view.children, [&](const store::ExecutionRow& child) {
    writer.raw(execution_json(child, channel_of(child, view.children)));
  });
  json::write(writer.name("context"), view.snapshot.context);
  writer.member("total_api_calls", view.snapshot.api_calls);
  writer.member("total_cost", view.snapshot.cost);
  if (!view.account.beginning.parent.empty()) {
    writer.member("parent_execution_id", view.account.beginning.parent);
  }
  if (view.row.is_leased) writer.member("owner", view.row.owner);
  return writer.member("updated_at", view.row.updated_at).end_object().take();
}

// What to do next; empty when there is nothing.
std::string next_step_of(const ExecutionView& view) {
  switch (status_of(view.row)) {
    case ExecutionStatus::completed: return "";
    case ExecutionStatus::running: return "It runs; look again later.";
    case ExecutionStatus::waiting:
      if (!view.channel.empty()) {
        return fmt::format("Send it a signal with: treaty machine signal {} DATA --resume{}",
                           shell_word(harmless(view.channel)), view.place);
      }
      [[fallthrough]];
    case ExecutionStatus::failed:
    case ExecutionStatus::interrupted: break;
  }
  return fmt::format("Go on with: treaty machine resume {}{}",
                     shell_word(harmless(view.row.execution)), view.place);
}

std::string view_text(const ExecutionView& view) {
  const store::ExecutionRow& row = view.row;
  std::string out = fmt::format("{} of {}: {}, step {} in {} ({})\n", harmless(row.execution),
                                harmless(row.machine), sentence_of(row, view.channel), row.step,
                                harmless(row.state), harmless(row.event));
  if (row.is_leased) out += fmt::format("run by {}\n", harmless(row.owner));
  out += fmt::format("input {}\n", compact(view.account.beginning.input));
  out += "steps\n";
  for (const StepAccount& step : view.account.steps) out += line_of(step);
  if (!view.children.empty()) out += "children\n";
  for (const store::ExecutionRow& child : view.children) {
    out += fmt::format("  {} of {}: {}\n", harmless(child.execution), harmless(child.machine),
                       sentence_of(child, channel_of(child, view.children)));
  }
  out += fmt::format("context\n{}\n", json_lines_of(view.snapshot.context));
  out += end_text(view);
  out += fmt::format("api calls {}, cost {}, updated {}\n", view.snapshot.api_calls,
                     view.snapshot.cost, harmless(row.updated_at));
  const std::string next = next_step_of(view);
  return next.empty() ? out : out + next + "\n";
}

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

int print_result(const ExecutionView& view) {
  if (view.is_completed()) {
    print_document(json::to_json(view.output()) + "\n");
    return kOk;
  }
  const ExecutionStatus status = status_of(view.row);
  const bool has_failed = status == ExecutionStatus::failed && view.account.ended;
  print_error("treaty machine show: {} {}{}\n{}\n", harmless(view.row.execution),
              has_failed ? "failed: " : "is ",
              has_failed ? harmless(machines::sentence_of(view.account.ended->error))
                         : sentence_of(view.row, view.channel),
              next_step_of(view));
  return status == ExecutionStatus::failed ? kViolated : kMachineWaits;
}

Result<ExecutionView> read_view(const Arguments& arguments, const std::string& execution) {
  TREATY_TRY(const auto store, open_to_look(arguments, store::Purpose::read));
  TREATY_TRY(const auto record, await_store(store.machines().find_execution(execution)));
  TREATY_TRY(const auto all, await_store(store.machines().list_executions()));
  const auto row = std::ranges::find(all, execution, &store::ExecutionRow::execution);
  if (!record || row == all.end()) {
    return failed_with(kViolated, fmt::format("there is no execution {}; see `treaty machine list`",
                                              harmless(execution)));
  }
  const auto unreadable = [&](std::string why) {
    return std::unexpected(machine_failure({ErrorCode::corrupt, std::move(why), execution}));
  };
  auto snapshot = machines::read_snapshot(record->snapshot);
  if (!snapshot) return unreadable(std::move(snapshot.error()));
  auto account = machines::read_account(record->journal);
  if (!account) return unreadable(std::move(account.error()));
  ExecutionView view{.row = *row,
                     .channel = channel_of(*row, all),
                     .snapshot = std::move(*snapshot),
                     .account = std::move(*account)};
  if (arguments.has("--store")) {
    view.place = " --store " + shell_word(harmless(arguments.get("--store")));
  }
  std::ranges::copy_if(all, std::back_inserter(view.children),
                       [&](const auto& other) { return is_below(other.execution, execution); });
  std::ranges::sort(view.children, {}, &store::ExecutionRow::execution);
  return view;
}

Result<int> show(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return misused("name one execution; `treaty machine list` lists them");
  }
  const Wanted wanted = wanted_by(arguments.positionals.front());
  TREATY_TRY(const auto view, read_view(arguments, wanted.execution));
  if (wanted.only_result) return print_result(view);
  if (wants_json(arguments)) {
    print_document(view_json(view) + "\n");
  } else {
    print("{}", view_text(view));
  }
  return kOk;
}

}  // namespace

Command list_command() {
  return {
      .name = "list",
      .summary = "List executions and where they stand, the newest first",
      .description =
          R"(running: a process has it. waiting: for a signal. interrupted: it goes on with `treaty
machine resume`. Machines that others have started are listed too: their ids begin
with that of the other one. JSON is one object a line. Exit: 0 done, also when there
is no store yet, 69 a store that cannot be used, 78 a configuration that is not in order.)",
      .options =
          joined({{{"--waiting", "", "Only those that wait for a signal"}}, looking_options()}),
      .examples = {{"machine list", "All executions of the configured store"},
                   {"machine list --store runs --waiting --format json",
                    "Those in a directory that wait, for a program"}},
      .run = list,
  };
}

Command show_command() {
  return {
      .name = "show",
      .positionals = "ID",
      .summary = "Show an execution: steps, calls, waits, context, output or error",
      .description =
          R"(`flatagents://ID/result`, the address of a launched machine's result, prints the output
alone. Exit: 0 done, 1 no such execution, or a result that is a failure, 2 wrong usage,
3 no result yet, 69 no store or none that can be used, 78 a configuration that is not
in order.)",
      .options = looking_options(),
      .examples = {{"machine show writer-7", "All that is known of it, and what to do next"},
                   {"machine show writer-7 --format json", "The same for a program"},
                   {"machine show flatagents://writer-7/result", "Only its output"}},
      .run = show,
  };
}

Command prune_command() {
  return {
      .name = "prune",
      .summary = "Delete old executions with all that they have kept",
      .description =
          R"(Whole executions, and never one that a process runs or that waits for a signal. Say at
least one of the two limits. Exit: 0 done, 2 wrong usage, 69 no store or none that can
be used, 78 a configuration that is not in order.)",
      .options =
          joined({{
                      {"--older-than", "AGE", "Those that nothing was written to for 12h, 30d, 8w"},
                      {"--keep", "N", "Of what is left, all but the newest N"},
                      {"--dry-run", "", "Only say which"},
                  },
                  looking_options()}),
      .examples = {{"machine prune --older-than 30d --dry-run", "What would go?"},
                   {"machine prune --older-than 30d --keep 1000 --format json",
                    "Delete them, and say which"}},
      .run = prune,
  };
}

}  // namespace treaty::cli::machine_executions
