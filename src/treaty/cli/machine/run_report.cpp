#include "treaty/cli/machine/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/json_text.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::cli {
namespace {

using machines::Outcome;
using machines::Status;

constexpr double kLargestWhole = 9e15;

void write_number(json::Writer& writer, double number) {
  if (std::abs(number) < kLargestWhole && std::floor(number) == number) {
    writer.value(static_cast<std::int64_t>(number));
  } else {
    writer.value(number);
  }
}

std::string resume_hint(const Outcome& outcome, const std::optional<std::string>& options) {
  if (!options) return "";
  return fmt::format("  Go on with: treaty machine resume {}{}\n", shell_word(outcome.execution),
                     *options);
}

std::string signal_hint(const Outcome& outcome, const std::optional<std::string>& options) {
  if (!options) return "";
  return fmt::format("  Send it with: treaty machine signal {} DATA --resume{}\n",
                     shell_word(outcome.channel), *options);
}

}  // namespace

std::string outcome_json(const Outcome& outcome, const machines::List* hooks) {
  json::Writer writer;
  writer.begin_object().member("status", name_of(outcome.status));
  writer.member("execution_id", outcome.execution);
  if (outcome.status == Status::completed) json::write(writer.name("output"), outcome.output);
  writer.name("path").raw(json::ValueText(outcome.path).text());
  if (!outcome.error.empty()) json::write(writer.name("error"), outcome.error);
  if (outcome.status == Status::lost) {
    writer.name("error").begin_object();
    writer.member("code", "store_error").member("message", outcome.trouble.message).end_object();
  }
  writer.member("calls", outcome.calls).name("waits");
  writer.array(outcome.waits, [&](double wait) { write_number(writer, wait); });
  if (!outcome.channel.empty()) writer.member("channel", outcome.channel);
  if (hooks != nullptr) json::write(writer.name("hooks"), machines::Dynamic(*hooks));
  return writer.end_object().take();
}

std::string outcome_text(const Outcome& outcome, const std::optional<std::string>& options) {
  switch (outcome.status) {
    case Status::completed: return json_lines_of(outcome.output) + "\n";
    case Status::failed: {
      const std::string state = machines::text_of(outcome.error, "state");
      return fmt::format("failed{}: {} ({})\n{}", state.empty() ? "" : " in " + harmless(state),
                         harmless(machines::sentence_of(outcome.error)),
                         harmless(machines::text_of(outcome.error, "code")),
                         resume_hint(outcome, options));
    }
    case Status::waiting:
      return fmt::format("waiting for a signal on {}\n", harmless(outcome.channel)) +
             signal_hint(outcome, options);
    case Status::interrupted: return "interrupted\n" + resume_hint(outcome, options);
    case Status::lost: return fmt::format("stopped: {}\n", harmless(outcome.trouble.message));
  }
  return "";
}

int exit_code_of(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::completed: return kOk;
    case Status::failed: return kViolated;
    case Status::waiting: return kMachineWaits;
    case Status::interrupted: return kTryLater;
    case Status::lost: break;
  }
  return outcome.trouble.code == ErrorCode::conflict ? kTryLater : kUnavailable;
}

std::string_view name_of(ExecutionStatus status) {
  switch (status) {
    case ExecutionStatus::running: return "running";
    case ExecutionStatus::waiting: return "waiting";
    case ExecutionStatus::completed: return "completed";
    case ExecutionStatus::failed: return "failed";
    case ExecutionStatus::interrupted: return "interrupted";
  }
  return "";
}

ExecutionStatus status_of(const store::ExecutionRow& row) {
  if (row.is_leased) return ExecutionStatus::running;
  if (row.event == "waiting") return ExecutionStatus::waiting;
  if (row.event == "machine_end") return ExecutionStatus::completed;
  if (row.event == "machine_error") return ExecutionStatus::failed;
  return ExecutionStatus::interrupted;
}

std::string channel_of(const store::ExecutionRow& row, std::span<const store::ExecutionRow> all) {
  if (row.event != "waiting" || !row.channel.empty()) return row.channel;
  const auto below = std::ranges::find_if(all, [&](const store::ExecutionRow& other) {
    return !other.channel.empty() && is_below(other.execution, row.execution);
  });
  return below == all.end() ? "" : below->channel;
}

bool is_below(std::string_view execution, std::string_view above) {
  return execution.size() > above.size() && execution.starts_with(above) &&
         execution[above.size()] == '.';
}

std::string sentence_of(const store::ExecutionRow& row, std::string_view channel) {
  const ExecutionStatus status = status_of(row);
  if (status == ExecutionStatus::waiting && !channel.empty()) {
    return fmt::format("waiting on {}", harmless(channel));
  }
  return std::string(name_of(status));
}

std::string executions_table(std::span<const store::ExecutionRow> rows,
                             std::span<const store::ExecutionRow> all) {
  TableRows cells = {{"EXECUTION", "MACHINE", "STATUS", "STATE", "EVENT", "STEP", "UPDATED"}};
  for (const store::ExecutionRow& row : rows) {
    cells.push_back({harmless(row.execution), harmless(row.machine),
                     sentence_of(row, channel_of(row, all)), harmless(row.state),
                     harmless(row.event), std::to_string(row.step), harmless(row.updated_at)});
  }
  return table_text(cells);
}

std::string execution_json(const store::ExecutionRow& row, std::string_view channel) {
  json::Writer writer;
  writer.begin_object()
      .member("execution_id", row.execution)
      .member("machine", row.machine)
      .member("status", name_of(status_of(row)))
      .member("state", row.state)
      .member("event", row.event)
      .member("step", row.step);
  if (!channel.empty()) writer.member("channel", channel);
  if (row.is_leased) writer.member("owner", row.owner);
  return writer.member("updated_at", row.updated_at).end_object().take();
}

}  // namespace treaty::cli
