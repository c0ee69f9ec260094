#include "treaty/store/sqlite/sqlite_machines.h"

#include <algorithm>
#include <set>
#include <span>

#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/store/leases.h"
#include "treaty/store/sqlite/deleting.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/sqlite/work_rows.h"

namespace treaty::store::sqlite {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kPrunedAtOnce = 50;  // In one transaction: others want to write too.

// --- Executions: leases, checkpoints, journals. As in journal.h: every function that writes runs
// inside a transaction that it shares with others, and a refusal leaves nothing behind.

std::optional<LeaseRecord> read_lease(Database& database, const std::string& execution) {
  Statement row(
      database,
      "SELECT owner_id, lease_until, fencing_token FROM execution_leases WHERE execution_id = ?",
      execution);
  if (!row.next()) return std::nullopt;
  return LeaseRecord{.owner = row.text(), .until = row.integer(), .token = row.integer()};
}

// The token stays, so that the next one is another.
void clear_owner(const Transaction& transaction, const std::string& execution) {
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

// Numbers of sessions are never given out again: one that was given out and is not there was
// deleted.
std::expected<void, Error> check_session(Database& database, std::int64_t session) {
  Statement deleted(
      database,
      "SELECT 1 FROM sqlite_sequence WHERE name = 'sessions' AND seq >= ?1 AND ?1 > 0 "
      "AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)",
      session);
  if (deleted.next()) return std::unexpected(session_is_deleted());
  return {};
}

std::expected<Lease, Error> acquire(const Transaction& transaction, const std::string& execution,
                                    const std::string& owner) {
  TREATY_TRY_VOID(check_execution_id(execution));
  {
    Statement known(transaction.database,
                    "SELECT session FROM machine_latest WHERE execution_id = ?", execution);
    if (known.next()) TREATY_TRY_VOID(check_session(transaction.database, known.integer()));
  }
  TREATY_TRY(const LeaseRecord lease,
             next_lease(read_lease(transaction.database, execution), owner, transaction.now));
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "INSERT OR REPLACE INTO execution_leases (execution_id, owner_id, phase, lease_until, "
            "fencing_token, acquired_at, updated_at) VALUES (?, ?, 'machine', ?, ?, ?, ?)",
            execution, lease.owner, lease.until, lease.token, at, at)
      .run();
  return Lease{.token = lease.token};
}

std::expected<void, Error> renew(const Transaction& transaction, const std::string& execution,
                                 const std::string& owner, std::int64_t token) {
  TREATY_TRY_VOID(check_lease(read_lease(transaction.database, execution), owner, token));
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "UPDATE execution_leases SET lease_until = ?, updated_at = ? WHERE execution_id = ?",
            lease_end(transaction.now), at, execution)
      .run();
  return {};
}

std::expected<void, Error> release(const Transaction& transaction, const std::string& execution,
                                   const std::string& owner, std::int64_t token) {
  TREATY_TRY_VOID(check_lease(read_lease(transaction.database, execution), owner, token));
  clear_owner(transaction, execution);
  return {};
}

// Whether it may be written: a line of a journal is one, its session is there, and the lease is
// held.
std::expected<void, Error> check(Database& database, const MachineWrite& write,
                                 const std::string& owner) {
  TREATY_TRY_VOID(check_write(write));
  TREATY_TRY_VOID(check_session(database, write.session));
  return check_lease(read_lease(database, write.execution), owner, write.token);
}

void apply(const Transaction& transaction, const MachineWrite& write) {
  Database& database = transaction.database;
  append_lines(database, write);
  const std::string at = timestamp_of(transaction.now);
  std::string latest;
  for (const Checkpoint& checkpoint : write.checkpoints) {
    latest = checkpoint_key(write.execution, checkpoint);
    Statement(database,
              "INSERT OR REPLACE INTO machine_checkpoints (checkpoint_key, execution_id, "
              "machine_name, event, current_state, waiting_channel, snapshot_json, created_at) "
              "VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?, ?)",
              latest, write.execution, write.machine, checkpoint.event, checkpoint.state,
              checkpoint.channel, Blob{checkpoint.snapshot}, at)
        .run();
  }
  if (!latest.empty()) {
    const bool may_run = !rests(write.checkpoints.back().event);
    Statement(database,
              "INSERT INTO machine_latest (execution_id, latest_key, updated_at, session, may_run) "
              "VALUES (?, ?, ?, nullif(?, 0), ?) "
              "ON CONFLICT (execution_id) DO UPDATE SET latest_key = excluded.latest_key, "
              "updated_at = excluded.updated_at, may_run = excluded.may_run, "
              "session = coalesce(machine_latest.session, excluded.session)",
              write.execution, latest, at, write.session, may_run ? 1 : 0)
        .run();
  }
  if (write.releases) clear_owner(transaction, write.execution);
}

std::expected<void, Error> write_checked(const Transaction& transaction, const MachineWrite& write,
                                         const std::string& owner) {
  TREATY_TRY_VOID(check(transaction.database, write, owner));
  apply(transaction, write);
  return {};
}

// Executions of sessions that were deleted: as long as they have rows, no query shows them.
std::set<std::string> hidden_executions(Database& database) {
  std::set<std::string> hidden;
  if (database.value_of("PRAGMA user_version") < kVersionWithHiddenSessions) return hidden;
  Statement rows(database,
                 "SELECT l.execution_id FROM hidden_sessions h JOIN machine_latest l ON "
                 "l.session = h.session");
  while (rows.next()) hidden.insert(rows.text());
  return hidden;
}

std::optional<ExecutionRecord> find_execution(Database& database, const std::string& execution) {
  if (!has_machines(database) || hidden_executions(database).contains(execution)) {
    return std::nullopt;
  }
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

std::vector<ExecutionRow> list_executions(Database& database,
                                          const std::shared_ptr<const Clock>& clock) {
  if (!has_machines(database)) return {};
  const Milliseconds now = clock->unix_now();
  const auto hidden = hidden_executions(database);
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
    if (hidden.contains(row.execution)) continue;
    if (auto parts = read_checkpoint_key(found.view())) {
      row.event = std::move(parts->event);
      row.step = parts->step;
    }
    row.updated_at = found.text();
    row.machine = found.text();
    row.state = found.text();
    row.channel = found.text();
    LeaseRecord lease{.owner = found.text(), .until = found.integer()};
    row.is_leased = is_held(lease, now);
    if (row.is_leased) row.owner = std::move(lease.owner);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<SessionExecution> list_abandoned(Database& database,
                                             const std::shared_ptr<const Clock>& clock) {
  const Milliseconds now = clock->unix_now();
  const auto hidden = hidden_executions(database);
  std::vector<SessionExecution> abandoned;
  Statement rows(
      database,
      "SELECT l.execution_id, l.session, e.owner_id, e.lease_until FROM machine_latest l "
      "LEFT JOIN execution_leases e ON e.execution_id = l.execution_id "
      "WHERE l.session IS NOT NULL AND l.may_run = 1 ORDER BY l.execution_id");
  while (rows.next()) {
    SessionExecution row{.execution = rows.text(), .session = rows.integer()};
    const LeaseRecord lease{.owner = rows.text(), .until = rows.integer()};
    if (!is_held(lease, now) && !hidden.contains(row.execution)) {
      abandoned.push_back(std::move(row));
    }
  }
  return abandoned;
}

// --- Signals: in the order they came, each for one execution or for anyone.

struct Signal {
  std::int64_t row = 0;
  std::string data{};
};

// Rows of this table are numbered as they come, whatever was deleted meanwhile.
std::optional<Signal> oldest_signal(Database& database, const std::string& channel,
                                    const std::string& execution) {
  Statement row(database,
                "SELECT rowid, data_json FROM signals WHERE rowid = (SELECT min(number) FROM ("
                "SELECT min(rowid) AS number FROM signals WHERE channel = ?1 AND addressee = ?2 "
                "UNION ALL "
                "SELECT min(rowid) FROM signals WHERE channel = ?1 AND addressee IS NULL))",
                channel, execution);
  if (!row.next()) return std::nullopt;
  return Signal{.row = row.integer(), .data = row.text()};
}

Texts waiters_of(Database& database, const std::string& channel) {
  const auto hidden = hidden_executions(database);
  Texts waiters;
  Statement rows(database,
                 "SELECT l.execution_id FROM machine_checkpoints c JOIN machine_latest l ON "
                 "l.execution_id = c.execution_id AND l.latest_key = c.checkpoint_key "
                 "WHERE c.waiting_channel = ? AND c.event = 'waiting' ORDER BY l.execution_id",
                 channel);
  while (rows.next()) {
    std::string waiter = rows.text();
    if (!hidden.contains(waiter)) waiters.push_back(std::move(waiter));
  }
  return waiters;
}

// Without an addressee it is anyone's.
void add_signal(const Transaction& transaction, const std::string& channel, const std::string& data,
                const std::string& addressee) {
  const std::string id = new_uuid();
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "INSERT INTO signals (id, channel, data_json, created_at, addressee) "
            "VALUES (?, ?, ?, ?, nullif(?, ''))",
            id, channel, data, at, addressee)
      .run();
}

std::expected<std::optional<std::string>, Error> take_signal(const Transaction& transaction,
                                                             const std::string& channel,
                                                             const MachineStore::Taken& taken,
                                                             const MachineWrite& waiting,
                                                             const std::string& owner) {
  Database& database = transaction.database;
  TREATY_TRY_VOID(check(database, waiting, owner));
  auto signal = oldest_signal(database, channel, waiting.execution);
  if (!signal) {
    apply(transaction, waiting);
    return std::nullopt;
  }
  const MachineWrite write = taken(signal->data);
  TREATY_TRY_VOID(check(database, write, owner));
  Statement(database, "DELETE FROM signals WHERE rowid = ?", signal->row).run();
  apply(transaction, write);
  return std::move(signal->data);
}

Texts send_signal(const Transaction& transaction, const std::string& channel,
                  const std::string& data) {
  Texts waiters = waiters_of(transaction.database, channel);
  for (const std::string& waiter : waiters) add_signal(transaction, channel, data, waiter);
  if (waiters.empty()) add_signal(transaction, channel, data, "");
  return waiters;
}

class SqliteMachines final : public MachineStore {
 public:
  SqliteMachines(Connections& connections, std::shared_ptr<const Clock> clock)
      : connections_(connections), clock_(std::move(clock)) {}

  Task<Lease> acquire(std::string execution) override {
    return connections_.write(sqlite::acquire, std::move(execution), owner_);
  }
  Task<void> renew(std::string execution, std::int64_t token) override {
    return connections_.write(sqlite::renew, std::move(execution), owner_, token);
  }
  Task<void> release(std::string execution, std::int64_t token) override {
    return connections_.write(sqlite::release, std::move(execution), owner_, token);
  }
  Task<void> write(MachineWrite write) override {
    return connections_.write(write_checked, std::move(write), owner_);
  }
  Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                               MachineWrite waiting) override {
    return connections_.write(sqlite::take_signal, std::move(channel), std::move(taken),
                              std::move(waiting), owner_);
  }
  Task<Texts> send_signal(std::string channel, std::string data) override {
    return connections_.write(sqlite::send_signal, std::move(channel), std::move(data));
  }
  Task<std::optional<ExecutionRecord>> find_execution(std::string execution) override {
    return connections_.read(sqlite::find_execution, std::move(execution));
  }
  Task<std::vector<ExecutionRow>> list_executions() override {
    return connections_.browse(sqlite::list_executions, clock_);
  }

  Task<std::vector<SessionExecution>> list_abandoned() override {
    return connections_.read(sqlite::list_abandoned, clock_);
  }

  Task<Texts> prune_executions(PruneQuery query) override {
    TREATY_CO_TRY(const auto rows, co_await list_executions());
    const std::vector<ExecutionRow> chosen = executions_to_prune(rows, query);
    Texts pruned;
    if (query.only_count) {
      for (const ExecutionRow& row : chosen) pruned.push_back(row.execution);
      co_return pruned;
    }
    for (std::span<const ExecutionRow> rest = chosen; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), kPrunedAtOnce));
      TREATY_CO_TRY(const DeletedExecutions step,
                    co_await connections_.write_step(
                        delete_executions, std::vector<ExecutionRow>(some.begin(), some.end())));
      rest = rest.subspan(step.done);
      pruned.insert(pruned.end(), step.deleted.begin(), step.deleted.end());
    }
    co_return pruned;
  }

  Task<Texts> push_work(std::string pool, Texts items, int max_retries) override {
    return connections_.write(sqlite::push_work, std::move(pool), std::move(items), max_retries);
  }
  Task<std::optional<WorkItem>> claim_work(std::string pool, std::string worker) override {
    return connections_.write(sqlite::claim_work, std::move(pool), std::move(worker));
  }
  Task<void> complete_work(std::string pool, std::string item, std::string worker,
                           std::string result) override {
    return connections_.write(sqlite::complete_work, std::move(pool), std::move(item),
                              std::move(worker), std::move(result));
  }
  Task<void> fail_work(std::string pool, std::string item, std::string worker,
                       std::string error) override {
    return connections_.write(sqlite::fail_work, std::move(pool), std::move(item),
                              std::move(worker), std::move(error));
  }
  Task<void> excuse_work(std::string pool, std::string item, std::string worker) override {
    return connections_.write(sqlite::excuse_work, std::move(pool), std::move(item),
                              std::move(worker));
  }
  Task<void> heartbeat(std::string pool, std::string worker) override {
    return connections_.write(sqlite::heartbeat, std::move(pool), std::move(worker));
  }
  Task<ReleasedWork> release_stale_work(std::string pool) override {
    return connections_.write(sqlite::release_stale_work, std::move(pool));
  }
  Task<WorkCounts> count_work(std::string pool) override {
    return connections_.read(sqlite::count_work, std::move(pool));
  }

 private:
  Connections& connections_;
  const std::shared_ptr<const Clock> clock_;
  const std::string owner_ = new_owner();
};

}  // namespace

std::unique_ptr<MachineStore> make_machine_store(Connections& connections,
                                                 std::shared_ptr<const Clock> clock) {
  return std::make_unique<SqliteMachines>(connections, std::move(clock));
}

}  // namespace treaty::store::sqlite
