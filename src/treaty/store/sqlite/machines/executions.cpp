#include "treaty/store/sqlite/machines/executions.h"

#include "treaty/base/timestamp.h"
#include "treaty/store/sqlite/migrations.h"

namespace treaty::store::sqlite {
namespace {

std::optional<LeaseRecord> read_lease(Database& database, const std::string& execution) {
  Statement row(
      database,
      "SELECT owner_id, lease_until, fencing_token FROM execution_leases WHERE execution_id = ?",
      execution);
  if (!row.next()) return std::nullopt;
  LeaseRecord lease;
  lease.owner = row.text();
  lease.until = row.integer();
  lease.token = row.integer();
  return lease;
}

// The token stays, so that the next one is another.
void let_go(const Transaction& transaction, const std::string& execution) {
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "UPDATE execution_leases SET owner_id = '', lease_until = 0, updated_at = ? "
            "WHERE execution_id = ?",
            at, execution)
      .run();
}

void append_lines(Database& database, const MachineWrite& write) {
  if (write.journal.empty()) return;
  std::int64_t number = 0;
  {
    Statement last(database, "SELECT max(number) FROM machine_journal WHERE execution_id = ?",
                   write.execution);
    if (last.next()) number = last.integer();
  }
  for (const std::string& line : write.journal) {
    Statement(database, "INSERT INTO machine_journal VALUES (?, ?, ?)", write.execution, ++number,
              line)
        .run();
  }
}

void save_checkpoint(Database& database, const MachineWrite& write, const Checkpoint& checkpoint,
                     const std::string& key, const std::string& at) {
  Statement(database,
            "INSERT OR REPLACE INTO machine_checkpoints (checkpoint_key, execution_id, "
            "machine_name, event, current_state, waiting_channel, snapshot_json, created_at) "
            "VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?, ?)",
            key, write.execution, write.machine, checkpoint.event, checkpoint.state,
            checkpoint.channel, Blob{checkpoint.snapshot}, at)
      .run();
}

void move_latest(Database& database, const std::string& execution, const std::string& key,
                 const std::string& at) {
  Statement(database,
            "INSERT INTO machine_latest (execution_id, latest_key, updated_at) VALUES (?, ?, ?) "
            "ON CONFLICT (execution_id) DO UPDATE SET latest_key = excluded.latest_key, "
            "updated_at = excluded.updated_at",
            execution, key, at)
      .run();
}

// Nothing of it has changed, and nobody has begun to run it.
bool is_as_listed(const Transaction& transaction, const ExecutionRow& row) {
  Statement latest(transaction.database,
                   "SELECT updated_at, latest_key FROM machine_latest WHERE execution_id = ?",
                   row.execution);
  if (!latest.next() || latest.view() != row.updated_at) return false;
  const auto parts = read_checkpoint_key(latest.view());
  if (!parts || parts->event != row.event || parts->step != row.step) return false;
  const auto lease = read_lease(transaction.database, row.execution);
  return !lease || !is_held(*lease, transaction.now);
}

void delete_execution(Database& database, const std::string& execution) {
  // Keys are `execution/…`: all that is between this and the character after the slash.
  const std::string begin = execution + '/';
  const std::string end = execution + '0';
  Statement(database,
            "DELETE FROM machine_checkpoints WHERE checkpoint_key > ? AND checkpoint_key < ?",
            begin, end)
      .run();
  Statement(database, "DELETE FROM machine_latest WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM machine_journal WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM execution_leases WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM signals WHERE addressee = ?", execution).run();
}

}  // namespace

std::expected<Lease, Error> acquire(const Transaction& transaction, const std::string& execution,
                                    const std::string& owner) {
  const auto lease =
      next_lease(read_lease(transaction.database, execution), owner, transaction.now);
  if (!lease) return std::unexpected(lease.error());
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "INSERT OR REPLACE INTO execution_leases (execution_id, owner_id, phase, lease_until, "
            "fencing_token, acquired_at, updated_at) VALUES (?, ?, 'machine', ?, ?, ?, ?)",
            execution, lease->owner, lease->until, lease->token, at, at)
      .run();
  return Lease{.token = lease->token};
}

std::expected<void, Error> renew(const Transaction& transaction, const std::string& execution,
                                 const std::string& owner, std::int64_t token) {
  auto ok = check_lease(read_lease(transaction.database, execution), owner, token);
  if (!ok) return ok;
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "UPDATE execution_leases SET lease_until = ?, updated_at = ? WHERE execution_id = ?",
            lease_end(transaction.now), at, execution)
      .run();
  return {};
}

std::expected<void, Error> release(const Transaction& transaction, const std::string& execution,
                                   const std::string& owner, std::int64_t token) {
  auto ok = check_lease(read_lease(transaction.database, execution), owner, token);
  if (ok) let_go(transaction, execution);
  return ok;
}

std::expected<void, Error> check_token(Database& database, const MachineWrite& write,
                                       const std::string& owner) {
  return check_lease(read_lease(database, write.execution), owner, write.token);
}

void apply(const Transaction& transaction, const MachineWrite& write) {
  append_lines(transaction.database, write);
  if (!write.checkpoints.empty()) {
    const std::string at = timestamp_of(transaction.now);
    std::string key;
    for (const Checkpoint& checkpoint : write.checkpoints) {
      key = checkpoint_key(write.execution, checkpoint);
      save_checkpoint(transaction.database, write, checkpoint, key, at);
    }
    move_latest(transaction.database, write.execution, key, at);
  }
  if (write.releases) let_go(transaction, write.execution);
}

std::optional<ExecutionRecord> find_execution(Database& database, const std::string& execution) {
  if (database.value_of("PRAGMA user_version") < kVersionWithMachines) return std::nullopt;
  Statement latest(database,
                   "SELECT l.latest_key, c.snapshot_json FROM machine_latest l JOIN "
                   "machine_checkpoints c ON c.checkpoint_key = l.latest_key "
                   "WHERE l.execution_id = ?",
                   execution);
  if (!latest.next()) return std::nullopt;
  ExecutionRecord record{.execution = execution};
  if (auto parts = read_checkpoint_key(latest.view())) {
    record.latest_event = std::move(parts->event);
    record.latest_step = parts->step;
  }
  record.snapshot = latest.text();
  Statement lines(database,
                  "SELECT line FROM machine_journal WHERE execution_id = ? ORDER BY number",
                  execution);
  while (lines.next()) record.journal.push_back(lines.text());
  return record;
}

std::vector<ExecutionRow> list_executions(Database& database, Milliseconds now) {
  if (database.value_of("PRAGMA user_version") < kVersionWithMachines) return {};
  std::vector<ExecutionRow> rows;
  Statement found(database,
                  "SELECT l.execution_id, l.latest_key, l.updated_at, c.machine_name, "
                  "c.current_state, c.waiting_channel, e.owner_id, e.lease_until "
                  "FROM machine_latest l JOIN machine_checkpoints c ON "
                  "c.checkpoint_key = l.latest_key LEFT JOIN execution_leases e ON "
                  "e.execution_id = l.execution_id "
                  "ORDER BY l.updated_at DESC, l.execution_id DESC");
  while (found.next()) {
    ExecutionRow row;
    row.execution = found.text();
    if (auto parts = read_checkpoint_key(found.view())) {
      row.event = std::move(parts->event);
      row.step = parts->step;
    }
    row.updated_at = found.text();
    row.machine = found.text();
    row.state = found.text();
    row.channel = found.text();
    LeaseRecord lease{.owner = found.text()};
    lease.until = found.integer();
    row.is_leased = is_held(lease, now);
    if (row.is_leased) row.owner = std::move(lease.owner);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> delete_executions(const Transaction& transaction,
                                           const std::vector<ExecutionRow>& rows) {
  std::vector<std::string> deleted;
  for (const ExecutionRow& row : rows) {
    if (!is_as_listed(transaction, row)) continue;
    delete_execution(transaction.database, row.execution);
    deleted.push_back(row.execution);
  }
  return deleted;
}

}  // namespace treaty::store::sqlite
