#include "treaty/store/sqlite/deleting.h"

#include <algorithm>
#include <set>

#include "treaty/store/leases.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

constexpr int kRowsAtOnce = 500;
constexpr std::int64_t kPagesAtOnce = 256;       // 1 MiB.
constexpr std::int64_t kSessionsAtOnce = 1'000;  // That one read looks at.

// A turn that a process accepted which is gone does not run.
bool has_running_turn(const Transaction& transaction, std::int64_t session) {
  Statement accepted(transaction.database,
                     "SELECT owner FROM turns INDEXED BY open_turns "
                     "WHERE state < 2 AND state = 0 AND session = ?",
                     session);
  while (accepted.next()) {
    if (!transaction.is_gone(accepted.integer())) return true;
  }
  return false;
}

void hide(Database& database, std::int64_t session) {
  Statement(database, "DELETE FROM sessions WHERE id = ?", session).run();
  Statement(database, "INSERT INTO hidden_sessions VALUES (?, 0)", session).run();
}

// --- The rows of an execution

// Keys are `execution/…`: all that is between this and the character after the slash.
struct KeyRange {
  explicit KeyRange(const std::string& execution) : begin(execution + '/'), end(execution + '0') {}
  std::string begin;
  std::string end;
};

// Nothing is resumed from these.
bool delete_old_checkpoints(Portion& portion, const std::string& execution) {
  const KeyRange keys(execution);
  return portion.delete_rows(
      "DELETE FROM machine_checkpoints WHERE checkpoint_key = (SELECT min(checkpoint_key) FROM "
      "machine_checkpoints WHERE checkpoint_key > ?1 AND checkpoint_key < ?2 AND checkpoint_key <> "
      "ifnull((SELECT latest_key FROM machine_latest WHERE execution_id = ?3), ''))",
      keys.begin, keys.end, execution);
}

bool delete_journal(Portion& portion, const std::string& execution) {
  return portion.delete_rows(
      "DELETE FROM machine_journal WHERE execution_id = ?1 AND number = (SELECT min(number) FROM "
      "machine_journal WHERE execution_id = ?1)",
      execution);
}

void delete_execution(Database& database, const std::string& execution) {
  const KeyRange keys(execution);
  Statement(database,
            "DELETE FROM machine_checkpoints WHERE checkpoint_key > ? AND checkpoint_key < ?",
            keys.begin, keys.end)
      .run();
  Statement(database, "DELETE FROM machine_latest WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM machine_journal WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM execution_leases WHERE execution_id = ?", execution).run();
  Statement(database, "DELETE FROM signals WHERE addressee = ?", execution).run();
}

// Nothing of it has changed, and no process has begun to run it.
bool is_as_listed(const Transaction& transaction, const ExecutionRow& row) {
  Statement latest(transaction.database,
                   "SELECT l.updated_at, l.latest_key, e.owner_id, e.lease_until FROM "
                   "machine_latest l LEFT JOIN execution_leases e ON e.execution_id = "
                   "l.execution_id WHERE l.execution_id = ?",
                   row.execution);
  if (!latest.next() || latest.view() != row.updated_at) return false;
  const auto parts = read_checkpoint_key(latest.view());
  if (!parts || parts->event != row.event || parts->step != row.step) return false;
  const LeaseRecord lease{.owner = latest.text(), .until = latest.integer()};
  return !is_held(lease, transaction.now);
}

// The executions that ran for turns of the session. True when none are left.
bool delete_executions_of(Database& database, Portion& portion, std::int64_t session) {
  while (true) {
    std::string execution;
    {
      Statement next(database, "SELECT execution_id FROM machine_latest WHERE session = ? LIMIT 1",
                     session);
      if (!next.next()) return !database.has_failed();
      execution = next.text();
    }
    if (!delete_old_checkpoints(portion, execution)) return false;
    if (!delete_journal(portion, execution)) return false;
    delete_execution(database, execution);
  }
}

// --- The rows of a session

// Names of turns by their numbers come first: as long as there is one, there is a turn to delete.
bool delete_turns_of(Database& database, Portion& portion, std::int64_t session) {
  while (true) {
    std::int64_t turn = 0;
    std::int64_t number = 0;
    {
      Statement next(database,
                     "SELECT name, target FROM names WHERE session = ? AND name < 1 << 61 "
                     "ORDER BY name LIMIT 1",
                     session);
      if (!next.next()) return !database.has_failed();
      number = next.integer();
      turn = next.integer();
    }
    const std::int64_t first = turn * kRounds;
    if (!portion.delete_rows("DELETE FROM requests WHERE id = (SELECT min(id) FROM requests "
                             "WHERE id >= ? AND id < ?)",
                             first, first + kRounds) ||
        !portion.delete_rows("DELETE FROM answers WHERE id = (SELECT min(id) FROM answers "
                             "WHERE id >= ? AND id < ?)",
                             first, first + kRounds) ||
        !portion.delete_rows("DELETE FROM turns WHERE id = ?", turn)) {
      return false;
    }
    Statement(database, "DELETE FROM names WHERE session = ? AND name = ?", session, number).run();
  }
}

// --- Stale sessions

// Sessions for whose turns a machine runs now.
std::set<std::int64_t> sessions_with_machines(Database& database, Milliseconds now) {
  std::set<std::int64_t> busy;
  if (database.value_of("PRAGMA user_version") < kVersionWithExecutionsOfSessions) return busy;
  Statement rows(database,
                 "SELECT l.session, e.owner_id, e.lease_until FROM machine_latest l JOIN "
                 "execution_leases e ON e.execution_id = l.execution_id "
                 "WHERE l.session IS NOT NULL AND l.may_run = 1");
  while (rows.next()) {
    const std::int64_t session = rows.integer();
    if (is_held({.owner = rows.text(), .until = rows.integer()}, now)) busy.insert(session);
  }
  return busy;
}

}  // namespace

bool Portion::is_used_up() {
  return rows_ >= kRowsAtOnce || free_pages() - free_before_ >= kPagesAtOnce;
}

std::expected<std::optional<std::int64_t>, Error> hide_session(const Transaction& transaction,
                                                               const Room& room) {
  Database& database = transaction.database;
  const auto row = SqliteRows(database, Contexts::left_out).find_session(room);
  if (!row) return std::nullopt;
  if (has_running_turn(transaction, row->session.id)) {
    return std::unexpected(conflict("one of its turns is running"));
  }
  hide(database, row->session.id);
  return row->session.id;
}

bool delete_some(const Transaction& transaction, std::int64_t session) {
  Database& database = transaction.database;
  Portion portion(database);
  if (!delete_executions_of(database, portion, session) ||
      !delete_turns_of(database, portion, session) ||
      !portion.delete_rows("DELETE FROM names WHERE session = ?1 AND (name, target) = (SELECT "
                           "name, target FROM names WHERE session = ?1 ORDER BY name LIMIT 1)",
                           session) ||
      !portion.delete_rows("DELETE FROM contexts WHERE session = ?1 AND number = (SELECT "
                           "min(number) FROM contexts WHERE session = ?1)",
                           session)) {
    return false;
  }
  Statement(database, "DELETE FROM hidden_sessions WHERE session = ?", session).run();
  return true;
}

bool has_hidden_sessions(Database& database) {
  return database.value_of("SELECT EXISTS (SELECT 1 FROM hidden_sessions)") != 0;
}

bool sweep_some(const Transaction& transaction, bool copies) {
  Database& database = transaction.database;
  std::int64_t session = 0;
  {
    Statement hidden(database, "SELECT session, owner FROM hidden_sessions ORDER BY session");
    while (session == 0 && hidden.next()) {
      const std::int64_t candidate = hidden.integer();
      const std::int64_t owner = hidden.integer();
      const bool is_left = owner == transaction.owner ? !copies : transaction.is_gone(owner);
      if (owner == 0 || is_left) session = candidate;
    }
  }
  if (session == 0) return !database.has_failed();
  // From now on it is not completed, whoever copied to it.
  Statement(database, "UPDATE hidden_sessions SET owner = 0 WHERE session = ?", session).run();
  delete_some(transaction, session);
  return false;
}

StalePage stale_sessions(Database& database, const StaleQuery& query) {
  const auto busy = sessions_with_machines(database, query.now);
  StalePage page;
  const std::string tenant = query.tenant.value_or("");
  Statement rows(database,
                 "SELECT s.id, s.turns, (?1 = 0 OR s.tenant = ?2) AND s.updated_at < ?3 AND "
                 "ifnull(t.updated_at, 0) < ?3 AND NOT EXISTS (SELECT 1 FROM turns n WHERE n.id = "
                 "s.newest AND n.state = 0) FROM (SELECT * FROM sessions WHERE id > ?4 ORDER BY id "
                 "LIMIT ?5) s LEFT JOIN turns t ON t.id = s.last",
                 query.tenant.has_value(), tenant, query.before, query.after, kSessionsAtOnce);
  std::int64_t looked_at = 0;
  std::int64_t last = 0;
  while (rows.next()) {
    const std::int64_t session = rows.integer();
    const std::int64_t turns = rows.integer();
    last = std::max(last, session);
    ++looked_at;
    if (!rows.boolean() || busy.contains(session)) continue;
    page.sessions.push_back(session);
    page.turns += turns;
  }
  if (looked_at == kSessionsAtOnce) page.next = last;
  return page;
}

Pruned hide_stale(const Transaction& transaction, const std::vector<std::int64_t>& sessions,
                  Milliseconds before) {
  Database& database = transaction.database;
  Pruned pruned;
  for (const std::int64_t id : sessions) {
    auto row = SqliteRows(database, Contexts::left_out).find_session(id);
    if (!row || has_running_turn(transaction, id)) continue;
    const Session session = with_last_turn(database, *std::move(row));
    if (!is_prunable(session, {}, before)) continue;
    hide(database, id);
    pruned.sessions += 1;
    pruned.turns += session.turns;
  }
  return pruned;
}

DeletedExecutions delete_executions(const Transaction& transaction,
                                    const std::vector<ExecutionRow>& rows) {
  Portion portion(transaction.database);
  DeletedExecutions result;
  for (const ExecutionRow& row : rows) {
    if (is_as_listed(transaction, row)) {
      if (!delete_old_checkpoints(portion, row.execution)) return result;
      delete_execution(transaction.database, row.execution);
      result.deleted.push_back(row.execution);
    }
    ++result.done;
  }
  return result;
}

}  // namespace treaty::store::sqlite
