#include "treaty/store/sqlite/journal.h"

#include <fmt/format.h>

#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

// What a change comes down to, once it is known that it can be applied.
struct Plan {
  SessionRow session{};
  bool opens = false;
  TurnRow turn{};
  bool begins = false;
};

std::unexpected<Error> refuse(std::string message) {
  return std::unexpected(conflict(std::move(message)));
}

// A turn leaves `accepted` by cancellation only where its answer is written: in a settlement.
bool leads_to(const Turn& turn, TurnState state) {
  switch (turn.state) {
    case TurnState::accepted: return state != TurnState::accepted && state != TurnState::cancelled;
    case TurnState::awaiting_tools: return state == TurnState::accepted || is_dead(state);
    case TurnState::failed: return turn.retryable && state == TurnState::accepted;
    case TurnState::completed:
    case TurnState::cancelled:
    case TurnState::expired: return false;
  }
  return false;
}

std::expected<void, Error> plan_session(const Transaction& transaction, const Lookup& lookup,
                                        const std::optional<SessionRow>& found,
                                        const Change& change, Plan& plan) {
  if (!change.open) {
    if (found) plan.session = *found;
    return {};
  }
  const Room& room = change.open->room;
  if (room == lookup.room ? found.has_value()
                          : find_session(transaction.database, room).has_value()) {
    return refuse("a session of that name exists already");
  }
  if (!change.open->initial_key.empty() &&
      find_initial(transaction.database, room.tenant, change.open->initial_key)) {
    return refuse("a first request with that key exists already");
  }
  plan.opens = true;
  plan.session.session.room = room;
  plan.session.session.opening_turn = change.open->opening_turn;
  plan.session.session.created_at = transaction.now;
  return {};
}

std::expected<void, Error> plan_begin(const Transaction& transaction, const Lookup& lookup,
                                      const View& view, const Change& change, Plan& plan) {
  if (!plan.opens && plan.session.session.id == 0) return refuse("there is no such session");
  if (transaction.owner() == 0) return refuse("this process does not run turns");
  const std::string& turn_id = change.begin->turn_id;
  const bool is_known = !plan.opens && turn_id == lookup.turn_id;  // Looked for already.
  if (is_known
          ? view.named.has_value()
          : !plan.opens &&
                find_turn(transaction.database, plan.session.session.id, turn_id).has_value()) {
    return refuse("a turn of that name exists already");
  }
  plan.begins = true;
  plan.turn.turn = {.number = plan.session.session.turns + 1,
                    .turn_id = turn_id,
                    .mode = change.begin->mode,
                    .created_at = transaction.now,
                    .updated_at = transaction.now};
  plan.turn.owner = transaction.owner();
  plan.turn.previous = plan.session.newest;
  return {};
}

std::expected<void, Error> plan_turn(const Transaction& transaction, const Change& change,
                                     Plan& plan) {
  if (!change.update && !change.request && !change.answer) return {};
  auto found = find_turn(transaction.database, change.turn);
  if (!found) return refuse("there is no such turn");
  plan.turn = *std::move(found);
  if (plan.session.session.id != plan.turn.turn.session) {
    auto session = find_session(transaction.database, plan.turn.turn.session);
    if (plan.opens || !session) return refuse("the turn belongs to another session");
    plan.session = *std::move(session);
  }
  if (change.request && change.request->round != plan.turn.turn.round + 1) {
    return refuse(fmt::format("the next round of the turn is {}", plan.turn.turn.round + 1));
  }
  if (!change.update) return {};
  const TurnState state = change.update->state;
  if (!leads_to(plan.turn.turn, state)) {
    return refuse(fmt::format("the turn is {} and cannot become {}", name_of(plan.turn.turn.state),
                              name_of(state)));
  }
  if (plan.turn.turn.state == TurnState::accepted && plan.turn.owner != transaction.owner()) {
    return refuse("another process runs the turn");
  }
  if (state == TurnState::accepted && transaction.owner() == 0) {
    return refuse("this process does not run turns");
  }
  if (plan.turn.turn.state == TurnState::failed && plan.session.newest > plan.turn.turn.id) {
    return refuse("a newer turn has taken its place");
  }
  return {};
}

std::expected<Plan, Error> plan_change(const Transaction& transaction, const Lookup& lookup,
                                       const View& view, const std::optional<SessionRow>& found,
                                       const Change& change) {
  Plan plan;
  if (auto ok = plan_session(transaction, lookup, found, change, plan); !ok) {
    return std::unexpected(ok.error());
  }
  const bool fits =
      (!change.request || (change.request->round >= 0 && change.request->round < kRounds)) &&
      (!change.answer || (change.answer->round >= 0 && change.answer->round < kRounds));
  if (!fits) return refuse(fmt::format("a turn has at most {} rounds", kRounds));
  const auto ok = change.begin ? plan_begin(transaction, lookup, view, change, plan)
                               : plan_turn(transaction, change, plan);
  if (!ok) return std::unexpected(ok.error());
  const bool touches_session = change.agent || change.conversation || change.solution_context;
  if (touches_session && !plan.opens && plan.session.session.id == 0) {
    return refuse("there is no such session");
  }
  return plan;
}

// One write of the row, whatever has changed in it.
void write_session(const Transaction& transaction, const Change& change, Plan& plan) {
  SessionRow& row = plan.session;
  Session& session = row.session;
  if (change.agent) session.agent = *change.agent;
  if (change.conversation) session.conversation = *change.conversation;
  if (change.solution_context) row.context_at = plan.turn.turn.number;
  session.updated_at = transaction.now;
  if (plan.opens) {
    Statement(transaction.database,
              "INSERT INTO sessions (tenant, session_id, agent, conversation, opening_turn, "
              "initial_key, created_at, updated_at, turns, newest, last, context_at) "
              "VALUES (?, ?, ?, ?, ?, nullif(?, x''), ?, ?, 0, 0, 0, ?)",
              session.room.tenant, session.room.session_id, session.agent, session.conversation,
              session.opening_turn, Blob{change.open->initial_key}, session.created_at,
              session.updated_at, row.context_at)
        .run();
    session.id = transaction.database.last_row();
  }
  if (change.solution_context) {
    write_context(transaction.database, session.id, row.context_at, *change.solution_context);
  }
}

void update_session(const Transaction& transaction, const SessionRow& row) {
  Statement(transaction.database,
            "UPDATE sessions SET agent = ?, conversation = ?, updated_at = ?, turns = ?, "
            "newest = ?, last = ?, context_at = ? WHERE id = ?",
            row.session.agent, row.session.conversation, row.session.updated_at, row.session.turns,
            row.newest, row.last, row.context_at, row.session.id)
      .run();
}

void begin_turn(const Transaction& transaction, Plan& plan) {
  Turn& turn = plan.turn.turn;
  SessionRow& session = plan.session;
  turn.session = session.session.id;
  Statement(transaction.database,
            "INSERT INTO turns (session, number, state, owner, round, previous, tool_deadline, "
            "retryable, has_streamed, events, created_at, updated_at, turn_id, mode, error_code, "
            "pending) VALUES (?, ?, 0, ?, 0, ?, 0, 0, 0, 0, ?, ?, ?, ?, '', '')",
            turn.session, turn.number, plan.turn.owner, plan.turn.previous, turn.created_at,
            turn.updated_at, turn.turn_id, turn.mode)
      .run();
  turn.id = transaction.database.last_row();
  write_name(transaction.database, turn.session, turn.number, turn.id);
  write_name(transaction.database, turn.session, name_of_turn(turn.turn_id), turn.id);
  session.session.turns = turn.number;
  session.last = turn.id;
  session.newest = turn.id;
}

// That turn, or the newest before it that is not dead; 0 when there is none.
std::int64_t living(Database& database, std::int64_t turn) {
  auto row = find_turn(database, turn);
  while (row && is_dead(row->turn.state)) row = find_turn(database, row->previous);
  return row ? row->turn.id : 0;
}

void change_turn(const Transaction& transaction, const TurnUpdate& update, Plan& plan) {
  Turn& turn = plan.turn.turn;
  if (update.state == TurnState::accepted) {
    if (is_dead(turn.state)) {
      plan.turn.previous = plan.session.newest;
      plan.session.newest = turn.id;
    }
    plan.turn.owner = transaction.owner();
  } else if (is_dead(update.state) && plan.session.newest == turn.id) {
    plan.session.newest = living(transaction.database, plan.turn.previous);
  }
  turn.has_streamed = false;
  turn.state = update.state;
  turn.round = update.round;
  turn.pending = update.pending;
  turn.tool_deadline = update.tool_deadline;
  turn.error_code = update.error_code;
  turn.retryable = update.retryable;
  turn.events = update.events;
  turn.updated_at = transaction.now;
  update_turn(transaction.database, plan.turn);
}

// The session of a turn that has just died goes on from the one before it.
void forget_newest(Database& database, std::int64_t turn) {
  const auto row = find_turn(database, turn);
  if (!row) return;
  Statement(database, "UPDATE sessions SET newest = ? WHERE id = ? AND newest = ?",
            living(database, row->previous), row->turn.session, turn)
      .run();
}

Applied apply(const Transaction& transaction, const Change& change, Plan& plan) {
  const bool had_session = plan.session.session.id != 0;
  if (plan.opens || had_session) write_session(transaction, change, plan);
  if (plan.begins) begin_turn(transaction, plan);
  if (change.update && !plan.begins) change_turn(transaction, *change.update, plan);
  if (had_session || plan.begins) update_session(transaction, plan.session);
  const std::int64_t turn = plan.turn.turn.id;
  if (change.request) {
    write_request(transaction.database, turn, *change.request);
    write_name(transaction.database, plan.turn.turn.session, name_of_key(change.request->key),
               turn * kRounds + change.request->round);
  }
  if (change.answer) {
    AnswerRecord answer = *change.answer;
    if (answer.created_at == 0) answer.created_at = transaction.now;
    write_answer(transaction.database, turn, answer);
  }
  if (!change.events.empty()) {
    append_events(transaction.database, turn * kRounds + plan.turn.turn.round, change.events);
  }
  return {.session = plan.session.session.id, .turn = turn, .number = plan.turn.turn.number};
}

std::optional<SessionRow> session_of(Database& database, const Lookup& lookup) {
  if (!lookup.room.session_id.empty()) return find_session(database, lookup.room);
  if (lookup.key.empty()) return std::nullopt;
  return find_initial(database, lookup.room.tenant, lookup.key);
}

View view_of(Database& database, const Lookup& lookup, const std::optional<SessionRow>& found) {
  View view;
  if (!found) return view;
  view.session = found->session;
  const std::int64_t session = found->session.id;
  const auto turn_of = [](std::optional<TurnRow> row) {
    return row ? std::optional(std::move(row->turn)) : std::nullopt;
  };
  if (!lookup.turn_id.empty()) view.named = turn_of(find_turn(database, session, lookup.turn_id));
  view.newest = view.named && view.named->id == found->newest
                    ? view.named
                    : turn_of(find_turn(database, found->newest));
  if (lookup.key.empty()) return view;
  if (const auto request = find_request(database, session, lookup.key)) {
    view.same_turn = turn_of(find_turn(database, *request / kRounds));
    if (auto body = read_request(database, *request, Detail::all)) {
      view.same = Round{.request = *std::move(body),
                        .answer = read_answer(database, *request, Detail::all)};
    }
  }
  return view;
}

}  // namespace

Error conflict(std::string message) {
  return {.code = ErrorCode::conflict, .message = std::move(message)};
}

View look_up(Database& database, const Lookup& lookup) {
  return view_of(database, lookup, session_of(database, lookup));
}

std::expected<Applied, Error> decide(const Transaction& transaction, const Lookup& lookup,
                                     const ChangeFunction& decide) {
  const auto found = session_of(transaction.database, lookup);
  const View view = view_of(transaction.database, lookup, found);
  // A view that could not be read is nothing to decide upon; the writer tells what happened.
  if (transaction.database.has_failed()) return Applied{};
  const Change change = decide(view);
  if (change.is_empty()) return Applied{.session = found ? found->session.id : 0};
  auto plan = plan_change(transaction, lookup, view, found, change);
  if (!plan) return std::unexpected(plan.error());
  return apply(transaction, change, *plan);
}

std::expected<void, Error> settle(const Transaction& transaction, const Settlement& settlement) {
  const TurnUpdate& update = settlement.update;
  if (update.state == TurnState::accepted || settlement.answer.round < 0 ||
      settlement.answer.round >= kRounds) {
    return refuse("this is not the end of a round");
  }
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
    return refuse("the turn has ended already, or another process runs it");
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
  if (transaction.owner() == 0) return refuse("this process does not run turns");
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
