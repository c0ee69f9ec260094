#include "treaty/store/sqlite/rooms.h"

#include "treaty/base/try.h"
#include "treaty/store/sqlite/reads.h"
#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

constexpr std::size_t kAll = std::size_t{1} << 40U;

void erase(Database& database, std::int64_t session, const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    const std::int64_t first = turn.id * kRounds;
    const std::int64_t end = first + kRounds;
    Statement(database, "DELETE FROM requests WHERE id >= ? AND id < ?", first, end).run();
    Statement(database, "DELETE FROM answers WHERE id >= ? AND id < ?", first, end).run();
    Statement(database, "DELETE FROM turns WHERE id = ?", turn.id).run();
  }
  Statement(database, "DELETE FROM names WHERE session = ?", session).run();
  Statement(database, "DELETE FROM contexts WHERE session = ?", session).run();
  Statement(database, "DELETE FROM sessions WHERE id = ?", session).run();
}

// What was latched when the turn of that number ran.
std::optional<std::string> latched_at(Database& database, std::int64_t session,
                                      std::int64_t number) {
  Statement statement(database,
                      "SELECT solution_context FROM contexts WHERE session = ? AND number <= ? "
                      "ORDER BY number DESC LIMIT 1",
                      session, number);
  return statement.next() ? std::optional(statement.text()) : std::nullopt;
}

// The copy of `turn` as the next turn of the session. Its answers name the session that they are
// in from now on.
void copy_turn(const Transaction& transaction, const Room& from, const TurnRow& turn,
               SessionRow& into) {
  Database& database = transaction.database;
  const std::int64_t source = turn.turn.id;
  Statement(database,
            "INSERT INTO turns (session, number, state, owner, round, previous, tool_deadline, "
            "retryable, has_streamed, events, created_at, updated_at, turn_id, mode, error_code, "
            "pending) SELECT ?, ?, state, 0, round, ?, tool_deadline, retryable, 0, events, "
            "created_at, updated_at, turn_id, mode, error_code, pending FROM turns WHERE id = ?",
            into.session.id, into.session.turns + 1, into.newest, source)
      .run();
  const std::int64_t copy = database.last_row();
  const std::int64_t first = source * kRounds;
  const std::int64_t end = first + kRounds;
  const std::int64_t shift = copy * kRounds - first;
  Statement(database,
            R"(INSERT INTO requests SELECT id + ?, "key", fingerprint, dialect, streaming, events,)"
            " body, format FROM requests WHERE id >= ? AND id < ?",
            shift, first, end)
      .run();
  const Room& room = into.session.room;
  const std::string pascal = session_member("SessionId", from);
  const std::string pascal_now = session_member("SessionId", room);
  const std::string camel = session_member("sessionId", from);
  const std::string camel_now = session_member("sessionId", room);
  Statement(database,
            "INSERT INTO answers SELECT id + ?, dialect, first_event, created_at, error_code, "
            "events, replace(replace(body, ?, ?), ?, ?), transcript, deltas, format, "
            "result FROM answers WHERE id >= ? AND id < ?",
            shift, pascal, pascal_now, camel, camel_now, first, end)
      .run();
  into.session.turns += 1;
  into.newest = copy;
  into.last = copy;
  write_name(database, into.session.id, into.session.turns, copy);
  write_name(database, into.session.id, name_of_turn(turn.turn.turn_id), copy);
  for (std::int64_t round = 0; round <= turn.turn.round; ++round) {
    const auto request = read_request(database, copy * kRounds + round, Detail::conversation);
    if (!request) break;
    write_name(database, into.session.id, name_of_key(request->key), copy * kRounds + round);
  }
}

void insert_branch(Database& database, SessionRow& row) {
  Session& session = row.session;
  Statement(database,
            "INSERT INTO sessions (tenant, session_id, agent, conversation, opening_turn, "
            "created_at, updated_at, turns, newest, last, context_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, -1)",
            session.room.tenant, session.room.session_id, session.agent, session.conversation,
            session.opening_turn, session.created_at, session.updated_at)
      .run();
  session.id = database.last_row();
}

// The branch latches what its source had latched at that number.
void copy_context(Database& database, std::int64_t source, std::int64_t number, SessionRow& into) {
  auto context = latched_at(database, source, number);
  if (!latches(into, context)) return;
  into.context_at = into.session.turns;
  into.session.solution_context = *std::move(context);
  write_context(database, into.session.id, into.context_at, into.session.solution_context);
}

}  // namespace

std::expected<bool, Error> delete_session(const Transaction& transaction, const Room& room) {
  const auto row = find_session(transaction.database, room);
  if (!row) return false;
  const auto turns = list_turns(transaction.database, row->session.id, 0, kAll);
  if (has_running(turns)) return std::unexpected(conflict("one of its turns is running"));
  erase(transaction.database, row->session.id, turns);
  return true;
}

std::expected<Pruned, Error> delete_stale(const Transaction& transaction,
                                          const std::vector<std::int64_t>& sessions,
                                          Milliseconds before) {
  Pruned pruned;
  for (const std::int64_t id : sessions) {
    auto row = find_session(transaction.database, id);
    if (!row) continue;
    count_last_turn(transaction.database, *row);
    const auto turns = list_turns(transaction.database, id, 0, kAll);
    if (!is_prunable(row->session, turns, before)) continue;
    erase(transaction.database, id, turns);
    pruned.sessions += 1;
    pruned.turns += static_cast<std::int64_t>(turns.size());
  }
  return pruned;
}

std::expected<Session, Error> branch(const Transaction& transaction, const Room& from,
                                     const std::string& turn_id, const std::string& into) {
  Database& database = transaction.database;
  SqliteRows rows(database);
  TREATY_TRY(BranchPlan plan, plan_branch(rows, from, turn_id, into, transaction.now));
  SessionRow& row = plan.session;
  insert_branch(database, row);
  for (std::int64_t number = 1; number <= plan.last_number; ++number) {
    const auto turn = find_turn_numbered(database, plan.source, number);
    if (!turn || !is_branched(turn->turn)) continue;
    copy_turn(transaction, from, *turn, row);
    copy_context(database, plan.source, number, row);
  }
  copy_context(database, plan.source, plan.last_number, row);
  Statement(database,
            "UPDATE sessions SET turns = ?, newest = ?, last = ?, context_at = ? WHERE id = ?",
            row.session.turns, row.newest, row.last, row.context_at, row.session.id)
      .run();
  return row.session;
}

}  // namespace treaty::store::sqlite
