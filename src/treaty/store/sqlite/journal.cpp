#include "treaty/store/sqlite/journal.h"

#include "treaty/base/try.h"
#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

void insert_session(Database& database, const NewSession& open, SessionRow& row) {
  Session& session = row.session;
  Statement(database,
            "INSERT INTO sessions (tenant, session_id, agent, conversation, opening_turn, "
            "initial_key, created_at, updated_at, turns, newest, last, context_at) "
            "VALUES (?, ?, ?, ?, ?, nullif(?, x''), ?, ?, 0, 0, 0, ?)",
            session.room.tenant, session.room.session_id, session.agent, session.conversation,
            session.opening_turn, Blob{open.initial_key}, session.created_at, session.updated_at,
            row.context_at)
      .run();
  session.id = database.last_row();
}

void update_session(Database& database, const SessionRow& row) {
  Statement(database,
            "UPDATE sessions SET agent = ?, conversation = ?, updated_at = ?, turns = ?, "
            "newest = ?, last = ?, context_at = ? WHERE id = ?",
            row.session.agent, row.session.conversation, row.session.updated_at, row.session.turns,
            row.newest, row.last, row.context_at, row.session.id)
      .run();
}

void insert_turn(Database& database, ChangePlan& plan) {
  Turn& turn = plan.turn.turn;
  SessionRow& session = plan.session;
  turn.session = session.session.id;
  Statement(database,
            "INSERT INTO turns (session, number, state, owner, round, previous, tool_deadline, "
            "retryable, has_streamed, events, created_at, updated_at, turn_id, mode, error_code, "
            "pending) VALUES (?, ?, 0, ?, 0, ?, 0, 0, 0, 0, ?, ?, ?, ?, '', '')",
            turn.session, turn.number, plan.turn.owner, plan.turn.previous, turn.created_at,
            turn.updated_at, turn.turn_id, turn.mode)
      .run();
  turn.id = database.last_row();
  write_name(database, turn.session, turn.number, turn.id);
  write_name(database, turn.session, name_of_turn(turn.turn_id), turn.id);
  session.last = turn.id;
  session.newest = turn.id;
}

// The session of a turn that has just died goes on from the one before it.
void forget_newest(Database& database, std::int64_t turn) {
  SqliteRows rows(database);
  const auto row = rows.find_turn(turn);
  if (!row) return;
  Statement(database, "UPDATE sessions SET newest = ? WHERE id = ? AND newest = ?",
            newest_living(rows, row->previous), row->turn.session, turn)
      .run();
}

Applied execute(const Transaction& transaction, const Change& change, ChangePlan& plan) {
  Database& database = transaction.database;
  if (plan.opens) insert_session(database, *change.open, plan.session);
  if (change.solution_context) {
    write_context(database, plan.session.session.id, plan.session.context_at,
                  *change.solution_context);
  }
  if (plan.turn_write == ChangePlan::Write::insert) insert_turn(database, plan);
  if (plan.turn_write == ChangePlan::Write::update) update_turn(database, plan.turn);
  if (plan.updates_session) update_session(database, plan.session);
  const std::int64_t turn = plan.turn.turn.id;
  if (change.request) {
    write_request(database, turn, *change.request);
    write_name(database, plan.turn.turn.session, name_of_key(change.request->key),
               turn * kRounds + change.request->round);
  }
  if (change.answer) {
    AnswerRecord answer = *change.answer;
    if (answer.created_at == 0) answer.created_at = transaction.now;
    write_answer(database, turn, answer);
  }
  if (!change.events.empty()) {
    append_events(database, turn * kRounds + plan.turn.turn.round, change.events);
  }
  return {.session = plan.session.session.id, .turn = turn, .number = plan.turn.turn.number};
}

}  // namespace

std::expected<Applied, Error> decide(const Transaction& transaction, const Lookup& lookup,
                                     const ChangeFunction& decide) {
  SqliteRows rows(transaction.database);
  const Found found = look_up(rows, lookup);
  // A view that could not be read is nothing to decide upon; the writer reports the failure.
  if (transaction.database.has_failed()) return Applied{};
  const Change change = decide(found.view);
  if (change.is_empty()) {
    return Applied{.session = found.session ? found.session->session.id : 0};
  }
  TREATY_TRY(ChangePlan plan, plan_change(rows, lookup, found, change,
                                          {.owner = transaction.owner(), .now = transaction.now}));
  return execute(transaction, change, plan);
}

std::expected<void, Error> settle(const Transaction& transaction, const Settlement& settlement) {
  TREATY_TRY_VOID(check_settlement(settlement));
  const TurnUpdate& update = settlement.update;
  Statement(transaction.database,
            "UPDATE turns SET state = ?, round = ?, pending = ?, tool_deadline = ?, "
            "error_code = ?, retryable = ?, events = ?, updated_at = ?, has_streamed = 0 "
            "WHERE id = ? AND state = 0 AND owner = ?",
            static_cast<int>(update.state), update.round, update.pending, update.tool_deadline,
            update.error_code, update.retryable, update.events, transaction.now, settlement.turn,
            transaction.owner())
      .run();
  if (transaction.database.has_failed()) return {};
  if (transaction.database.changes() == 0) {
    return std::unexpected(conflict("the turn has ended already, or another process runs it"));
  }
  if (is_dead(update.state)) forget_newest(transaction.database, settlement.turn);
  if (settlement.answer.created_at != 0) {
    write_answer(transaction.database, settlement.turn, settlement.answer);
    return {};
  }
  AnswerRecord answer = settlement.answer;
  answer.created_at = transaction.now;
  write_answer(transaction.database, settlement.turn, answer);
  return {};
}

std::expected<void, Error> mark_streamed(const Transaction& transaction, std::int64_t turn) {
  Statement(transaction.database,
            "UPDATE turns SET has_streamed = 1 WHERE id = ? AND state = 0 AND owner = ?", turn,
            transaction.owner())
      .run();
  return {};
}

std::expected<std::vector<Abandoned>, Error> claim_abandoned(const Transaction& transaction,
                                                             const TurnJournal::Diary& diary) {
  if (transaction.owner() == 0) return std::unexpected(conflict("this process does not run turns"));
  std::vector<std::int64_t> turns;
  Statement open(transaction.database,
                 "SELECT id, owner FROM turns INDEXED BY open_turns "
                 "WHERE state < 2 AND state = 0 ORDER BY id");
  while (open.next()) {
    const std::int64_t turn = open.integer();
    if (transaction.owners->is_gone(open.integer())) turns.push_back(turn);
  }
  std::vector<Abandoned> abandoned;
  for (const std::int64_t turn : turns) {
    Statement(transaction.database, "UPDATE turns SET owner = ? WHERE id = ?", transaction.owner(),
              turn)
        .run();
    auto row = find_turn(transaction.database, turn);
    if (!row) continue;
    auto session = find_session(transaction.database, row->turn.session);
    if (!session) continue;
    auto rounds = read_rounds(transaction.database, turn, Detail::all);
    if (!rounds.empty() && diary) {
      const std::string lines = diary(rounds.back());
      append_events(transaction.database, turn * kRounds + rounds.back().request.round, lines);
      append_events(rounds.back(), lines);
    }
    abandoned.push_back({.session = std::move(session->session),
                         .record = {.turn = std::move(row->turn), .rounds = std::move(rounds)}});
  }
  return abandoned;
}

}  // namespace treaty::store::sqlite
