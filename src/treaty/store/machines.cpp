#include "treaty/store/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::store {
namespace {

constexpr std::size_t kLongestId = 200;  // With room in a file name for what is put behind it.
constexpr std::string_view kStep = "step_";
constexpr std::string_view kEnding = ".json";

// And not for tools, its own or those of a machine within it.
bool waits_for_signal(const ExecutionRow& row) {
  return row.event == kWaiting &&
         !row.channel.starts_with(fmt::format("{}{}", kToolChannels, row.execution));
}

bool has_ended(const ExecutionRow& row) {
  return !row.is_leased && row.event != kWaiting && rests(row.event);
}

// Machines that others have started have their ids, and a dot, in front of their own. What they
// came to may stand nowhere else: they stay as long as one of those that may go on.
void spare_needed(std::vector<ExecutionRow>& chosen, const std::vector<ExecutionRow>& rows) {
  std::set<std::string_view> staying;  // And not at their end.
  for (const ExecutionRow& row : rows) {
    if (!has_ended(row)) staying.insert(row.execution);
  }
  for (const ExecutionRow& row : chosen) staying.erase(row.execution);
  std::erase_if(chosen, [&](const ExecutionRow& row) {
    const std::string_view id = row.execution;
    for (std::size_t dot = id.find('.'); dot != std::string_view::npos;
         dot = id.find('.', dot + 1)) {
      if (staying.contains(id.substr(0, dot))) return true;
    }
    return false;
  });
}

}  // namespace

bool rests(std::string_view event) {
  return event == "machine_end" || event == "machine_error" || event == kWaiting;
}

bool is_execution_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && text.front() != '.' &&
         text.find('/') == std::string_view::npos && !has_control_character(text) && is_utf8(text);
}

std::expected<void, Error> check_execution_id(std::string_view text) {
  if (is_execution_id(text)) return {};
  return fail(ErrorCode::wrong_usage,
              fmt::format("an execution id has 1 to {} bytes, does not begin with a dot, "
                          "and has no slash and no control character; choose another one",
                          kLongestId),
              repaired_utf8(text));
}

std::expected<void, Error> check_write(const MachineWrite& write) {
  if (auto ok = check_execution_id(write.execution); !ok) return ok;
  for (const std::string& line : write.journal) {
    if (line.find('\n') == std::string::npos) continue;
    return fail(ErrorCode::wrong_usage, "a line of a journal has no line breaks in it",
                write.execution);
  }
  return {};
}

std::string checkpoint_key(std::string_view execution, const Checkpoint& checkpoint) {
  return fmt::format("{}/step_{:06}_{}.json", execution, checkpoint.step, checkpoint.event);
}

std::optional<KeyParts> read_checkpoint_key(std::string_view key) {
  std::string_view name = key.substr(key.rfind('/') + 1);
  if (!name.starts_with(kStep) || !name.ends_with(kEnding)) return std::nullopt;
  name.remove_prefix(kStep.size());
  if (name.size() <= kEnding.size()) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (!name.contains('_')) return std::nullopt;
  const auto step = parse_number<std::int64_t>(take_until(name, '_'));
  if (!step) return std::nullopt;
  return KeyParts{.step = *step, .event = std::string(name)};
}

Error session_is_deleted() {
  return {.code = ErrorCode::conflict,
          .message = "the session that this execution runs for was deleted"};
}

void sort_newest_first(std::vector<ExecutionRow>& rows) {
  std::ranges::sort(rows, [](const ExecutionRow& left, const ExecutionRow& right) {
    return std::tie(left.updated_at, left.execution) > std::tie(right.updated_at, right.execution);
  });
}

std::vector<ExecutionRow> executions_to_prune(const std::vector<ExecutionRow>& rows,
                                              const PruneQuery& query) {
  const std::string before = query.before ? timestamp_of(*query.before) : std::string();
  std::vector<ExecutionRow> chosen;
  std::size_t kept = 0;
  for (const ExecutionRow& row : rows) {
    const bool is_old = query.before && row.updated_at < before;
    const bool is_one_too_many = !is_old && query.keep && kept >= *query.keep;
    if (!is_old) ++kept;
    if (!is_old && !is_one_too_many) continue;
    if (row.is_leased || waits_for_signal(row)) continue;
    chosen.push_back(row);
  }
  spare_needed(chosen, rows);
  return chosen;
}

}  // namespace treaty::store
