#include "treaty/cli/machine/execution_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {

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
