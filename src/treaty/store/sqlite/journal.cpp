#include "treaty/store/sqlite/journal.h"

#include "treaty/base/try.h"
#include "treaty/store/sqlite/budgets.h"
#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

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
  if (plan.opens) insert_session(database, plan.session, change.open->initial_key);
  if (plan.latches) {
    write_context(database, plan.session.session.id, plan.session.context_at,
                  *change.solution_context);
  }
  const Turn& turn = plan.turn.turn;
  if (plan.turn_write == ChangePlan::Write::insert) insert_turn(database, plan.session, plan.turn);
  if (plan.turn_write == ChangePlan::Write::update) update_turn(database, plan.turn);
  if (plan.moved_from != 0) move_turn(database, turn, plan.moved_from);
  if (plan.updates_session) update_session(database, plan.session);
  if (change.request) write_request(database, turn, *change.request);
  if (change.answer) write_answer(database, turn.id, *change.answer, transaction.now);
  if (!change.events.empty()) {
    append_events(database, {.turn = turn.id, .round = turn.round}, change.events);
  }
  return {.session = plan.session.session.id, .turn = turn.id, .number = turn.number};
}

}  // namespace

std::expected<Applied, Error> decide(const Transaction& transaction, const Lookup& lookup,
                                     const ChangeFunction& decide) {
  SqliteRows rows(transaction.database);
  const Found found = look_up(rows, lookup, transaction.is_gone);
  // A view that could not be read is nothing to decide upon; the writer reports the failure.
  if (transaction.database.has_failed()) return Applied{};
  const Change change = decide(found.view);
  if (change.is_empty()) {
    return Applied{.session = found.session ? found.session->session.id : 0};
  }
  TREATY_TRY(ChangePlan plan, plan_change(rows, lookup, found, change,
                                          {.owner = transaction.owner, .now = transaction.now}));
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
            transaction.owner)
      .run();
  if (transaction.database.has_failed()) return {};
  if (transaction.database.changes() == 0) {
    return std::unexpected(conflict("the turn has ended already, or another process runs it"));
  }
  if (is_dead(update.state)) forget_newest(transaction.database, settlement.turn);
  write_answer(transaction.database, settlement.turn, settlement.answer, transaction.now);
  return {};
}

void mark_streamed(const Transaction& transaction, std::int64_t turn, const std::string& events) {
  Statement(transaction.database,
            "UPDATE turns SET has_streamed = 1 WHERE id = ? AND state = 0 AND owner = ?", turn,
            transaction.owner)
      .run();
  if (events.empty() || transaction.database.changes() == 0) return;
  if (const auto row = SqliteRows(transaction.database).find_turn(turn)) {
    append_events(transaction.database, {.turn = turn, .round = row->turn.round}, events);
  }
}

std::expected<std::vector<Abandoned>, Error> claim_abandoned(const Transaction& transaction,
                                                             const TurnJournal::Diary& diary,
                                                             std::optional<std::int64_t> only) {
  if (transaction.owner == 0) return std::unexpected(conflict("this process does not run turns"));
  Database& database = transaction.database;
  std::vector<std::int64_t> turns;
  Statement open(database,
                 "SELECT id, owner FROM turns INDEXED BY open_turns "
                 "WHERE state < 2 AND state = 0 ORDER BY id");
  while (turns.size() < TurnJournal::kMostClaimed && open.next()) {
    const std::int64_t turn = open.integer();
    const std::int64_t owner = open.integer();
    if (only.value_or(turn) == turn && transaction.is_gone(owner)) turns.push_back(turn);
  }
  SqliteRows rows(database);
  std::vector<Abandoned> abandoned;
  for (const std::int64_t turn : turns) {
    Statement(database, "UPDATE turns SET owner = ? WHERE id = ?", transaction.owner, turn).run();
    auto row = rows.find_turn(turn);
    if (!row) continue;
    auto session = rows.find_session(row->turn.session);
    if (!session) continue;
    Abandoned one{.session = std::move(session->session), .record = {.turn = row->turn}};
    if (auto newest = read_round(database, {.turn = turn, .round = row->turn.round})) {
      if (diary) {
        const std::string lines = diary(*newest);
        append_events(database, {.turn = turn, .round = row->turn.round}, lines);
        append_events(*newest, lines);
      }
      one.record.rounds.push_back(*std::move(newest));
    }
    abandoned.push_back(std::move(one));
  }
  spend_abandoned(database, transaction.is_gone);
  return abandoned;
}

}  // namespace treaty::store::sqlite
