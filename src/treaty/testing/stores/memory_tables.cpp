#include "treaty/testing/stores/memory_tables.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "treaty/base/try.h"

namespace treaty::store {
std::int64_t MemoryTables::sign_on() {
  owners_.insert(++last_owner_);
  return last_owner_;
}

void MemoryTables::sign_off(std::int64_t owner) {
  spend_all_of(owner);
  owners_.erase(owner);
}

std::expected<Applied, Error> MemoryTables::transact(const Lookup& lookup,
                                                     const ChangeFunction& decide,
                                                     const WriterIdentity& writer) {
  const auto is_gone = [this](std::int64_t owner) { return !owners_.contains(owner); };
  const Found found = look_up(*this, lookup, is_gone);
  const Change change = decide(found.view);
  if (change.is_empty()) {
    return Applied{.session = found.session ? found.session->session.id : 0};
  }
  TREATY_TRY(ChangePlan plan, plan_change(*this, lookup, found, change, writer));
  return execute(change, plan, writer);
}

Applied MemoryTables::execute(const Change& change, ChangePlan& plan,
                              const WriterIdentity& writer) {
  Session& opened = plan.session.session;
  if (plan.opens) {
    opened.id = ++last_session_;
    rooms_[{opened.room.tenant, opened.room.session_id}] = opened.id;
    sessions_[opened.id].initial_key = change.open->initial_key;
  }
  if (opened.id != 0) {
    StoredSession& session = sessions_[opened.id];
    session.row = plan.session;
    if (plan.latches) {
      session.contexts[plan.session.context_at] = *change.solution_context;
    }
    if (plan.turn_write == ChangePlan::Write::insert) {
      plan.turn.turn.id = insert_turn(session, {.row = plan.turn});
    }
  }
  if (plan.turn_write == ChangePlan::Write::update) turns_[plan.turn.turn.id].row = plan.turn;
  const std::int64_t id = plan.turn.turn.id;
  if (plan.moved_from != 0) {
    StoredSession& session = sessions_[opened.id];
    std::erase(session.turns, id);
    session.turns.push_back(id);
    session.moved[plan.moved_from] = id;
  }
  if (change.request) turns_[id].requests[change.request->round] = *change.request;
  if (change.answer) {
    AnswerRecord& answer = turns_[id].answers[change.answer->round] = *change.answer;
    if (answer.created_at == 0) answer.created_at = writer.now;
  }
  if (!change.events.empty() && id != 0) {
    append_events(turns_[id], plan.turn.turn.round, change.events);
  }
  return {.session = opened.id, .turn = id, .number = plan.turn.turn.number};
}

std::int64_t MemoryTables::insert_turn(StoredSession& session, StoredTurn turn) {
  const std::int64_t id = ++last_turn_;
  turn.row.turn.id = id;
  turn.row.turn.session = session.row.session.id;
  session.row.newest = id;
  session.row.last = id;
  session.turns.push_back(id);
  turns_[id] = std::move(turn);
  return id;
}

std::expected<void, Error> MemoryTables::settle(Settlement settlement,
                                                const WriterIdentity& writer) {
  TREATY_TRY_VOID(check_settlement(settlement));
  const auto found = turns_.find(settlement.turn);
  if (found == turns_.end() || found->second.row.turn.state != TurnState::accepted ||
      found->second.row.owner != writer.owner) {
    return std::unexpected(conflict("the turn has ended already, or another process runs it"));
  }
  StoredTurn& turn = found->second;
  apply_update(turn.row.turn, settlement.update, writer.now);
  SessionRow& session = sessions_[turn.row.turn.session].row;
  if (is_dead(settlement.update.state) && session.newest == settlement.turn) {
    session.newest = newest_living(*this, turn.row.previous);
  }
  if (settlement.answer.created_at == 0) settlement.answer.created_at = writer.now;
  turn.answers[settlement.answer.round] = std::move(settlement.answer);
  return {};
}

void MemoryTables::mark_streamed(std::int64_t turn, std::string_view events,
                                 const WriterIdentity& writer) {
  const auto found = turns_.find(turn);
  if (found == turns_.end()) return;
  TurnRow& row = found->second.row;
  if (row.turn.state == TurnState::accepted && row.owner == writer.owner) {
    row.turn.has_streamed = true;
    append_events(found->second, row.turn.round, events);
  }
}

std::vector<Abandoned> MemoryTables::claim_abandoned(const TurnJournal::Diary& diary,
                                                     std::optional<std::int64_t> only,
                                                     const WriterIdentity& writer) {
  std::vector<Abandoned> abandoned;
  for (auto& [id, turn] : turns_) {
    if (abandoned.size() == TurnJournal::kMostClaimed) break;
    if (turn.row.turn.state != TurnState::accepted || owners_.contains(turn.row.owner)) continue;
    if (only.value_or(id) != id) continue;
    turn.row.owner = writer.owner;
    if (const auto rounds = rounds_of(turn); !rounds.empty() && diary) {
      append_events(turn, rounds.back().request.round, diary(rounds.back()));
    }
    auto rounds = rounds_of(turn);
    if (rounds.size() > 1) rounds.erase(rounds.begin(), rounds.end() - 1);
    abandoned.push_back({.session = row_of(sessions_[turn.row.turn.session]).session,
                         .record = {.turn = turn.row.turn, .rounds = std::move(rounds)}});
  }
  spend_abandoned(writer.owner);
  return abandoned;
}

std::expected<bool, Error> MemoryTables::delete_session(const Room& room) {
  const auto found = find_session(room);
  if (!found) return false;
  const auto is_gone = [this](std::int64_t owner) { return !owners_.contains(owner); };
  if (has_running(*this, turns_of(sessions_[found->session.id]), is_gone)) {
    return std::unexpected(conflict("one of its turns is running"));
  }
  erase(found->session.id);
  return true;
}

void MemoryTables::erase(std::int64_t session) {
  const StoredSession& stored = sessions_[session];
  for (const std::int64_t turn : stored.turns) turns_.erase(turn);
  const Room& room = stored.row.session.room;
  rooms_.erase({room.tenant, room.session_id});
  sessions_.erase(session);
}

std::expected<Session, Error> MemoryTables::branch(const Room& from, const std::string& turn_id,
                                                   const std::string& into,
                                                   const WriterIdentity& writer) {
  TREATY_TRY(BranchPlan plan, plan_branch(*this, from, turn_id, into));
  plan.session.session.created_at = writer.now;
  plan.session.session.updated_at = writer.now;
  plan.session.session.id = ++last_session_;
  rooms_[{from.tenant, into}] = last_session_;
  StoredSession& branch = sessions_[last_session_];
  branch.row = std::move(plan.session);
  const StoredSession& source = sessions_[plan.source];
  std::int64_t latched = -1;
  const auto latch = [&](std::int64_t number) {
    const auto after = source.contexts.upper_bound(number);
    if (after == source.contexts.begin() || std::prev(after)->first == latched) return;
    latched = std::prev(after)->first;
    branch.row.context_at = branch.row.session.turns;
    branch.contexts[branch.row.context_at] = std::prev(after)->second;
  };
  for (const std::int64_t id : source.turns) {
    const StoredTurn& turn = turns_[id];
    if (turn.row.turn.number > plan.last_number || !is_branched(turn.row.turn)) continue;
    copy_turn(turn, from, branch);
    latch(turn.row.turn.number);
  }
  latch(plan.last_number);
  Session made = branch.row.session;
  branch.row.session.last_turn.clear();  // A row has none.
  return made;
}

void MemoryTables::copy_turn(const StoredTurn& turn, const Room& from, StoredSession& into) {
  StoredTurn copy = turn;
  copy.row = copy_for_branch(turn.row.turn, into.row);
  for (auto& [round, answer] : copy.answers) {
    answer.body = renamed_body(std::move(answer.body), from, into.row.session.room);
  }
  insert_turn(into, std::move(copy));
}

Pruned MemoryTables::prune(Milliseconds before, const std::optional<std::string>& tenant,
                           const std::set<std::int64_t>& busy, bool only_count) {
  Pruned pruned;
  std::vector<std::int64_t> chosen;
  for (const auto& [id, session] : sessions_) {
    if (tenant && session.row.session.room.tenant != *tenant) continue;
    if (busy.contains(id)) continue;
    if (!is_prunable(with_last_turn(session), turns_of(session), before)) continue;
    chosen.push_back(id);
    pruned.sessions += 1;
    pruned.turns += session.row.session.turns;
  }
  if (only_count) return pruned;
  for (const std::int64_t id : chosen) erase(id);
  return pruned;
}

std::optional<Session> MemoryTables::session(const Room& room) {
  const auto found = find_session(room);
  return found ? std::optional(with_last_turn(sessions_[found->session.id])) : std::nullopt;
}

std::string MemoryTables::solution_context(std::int64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? std::string() : row_of(found->second).session.solution_context;
}

bool MemoryTables::is_deleted(std::int64_t session) const {
  return session > 0 && session <= last_session_ && !sessions_.contains(session);
}

std::vector<Session> MemoryTables::list_sessions(const SessionQuery& query) {
  std::vector<Session> sessions;
  for (const auto& [id, session] : sessions_ | std::views::reverse) {
    if (sessions.size() == query.limit) break;
    if (query.before > 0 && id >= query.before) continue;
    if (query.tenant && session.row.session.room.tenant != *query.tenant) continue;
    sessions.push_back(with_last_turn(session));
  }
  return sessions;
}

std::optional<TurnRecord> MemoryTables::record(const Room& room, std::string_view turn_id) {
  const auto session = find_session(room);
  if (!session) return std::nullopt;
  const auto turn = find_turn(session->session.id, turn_id);
  if (!turn) return std::nullopt;
  return TurnRecord{.turn = turn->turn, .rounds = rounds_of(turns_[turn->turn.id])};
}

std::vector<Turn> MemoryTables::list_turns(std::int64_t session, std::int64_t after_number,
                                           std::size_t limit) {
  std::vector<Turn> turns;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return turns;
  for (Turn& turn : turns_of(found->second)) {
    if (turn.number <= after_number || turns.size() == limit) continue;
    turn.pending.clear();
    turns.push_back(std::move(turn));
  }
  return turns;
}

TurnJournal::History MemoryTables::history(std::int64_t session, std::int64_t before_number,
                                           std::size_t bytes) {
  TurnJournal::History history;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return history;
  std::size_t used = 0;
  for (const std::int64_t id : found->second.turns | std::views::reverse) {
    const StoredTurn& turn = turns_[id];
    if (turn.row.turn.number >= before_number || turn.row.turn.state != TurnState::completed) {
      continue;
    }
    TurnRecord record{.turn = turn.row.turn, .rounds = rounds_of(turn)};
    used += history_size(record.rounds);
    if (used > bytes && !history.turns.empty()) {
      history.more = true;
      return history;
    }
    for (Round& round : record.rounds) {
      round.request.events.clear();
      if (!round.answer) continue;
      round.answer->body.clear();
      round.answer->events.clear();
      round.answer->deltas.clear();
    }
    history.turns.push_back(std::move(record));
  }
  return history;
}

std::vector<EventRow> MemoryTables::events(std::int64_t session, std::int64_t from_number,
                                           std::size_t limit) {
  std::vector<EventRow> rows;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return rows;
  std::map<std::int64_t, std::int64_t> numbers = found->second.moved;
  std::map<std::int64_t, std::int64_t> first_numbers;
  for (const auto& [number, id] : found->second.moved) first_numbers.emplace(id, number);
  for (const std::int64_t id : found->second.turns) numbers[turns_[id].row.turn.number] = id;
  for (const auto& [number, id] : numbers) {
    const StoredTurn& stored = turns_[id];
    const auto add = [&, place = number, turn = id](const std::string& events) {
      if (events.empty() || place < from_number || rows.size() == limit) return;
      const auto first = first_numbers.find(turn);
      rows.push_back({.number = place,
                      .turn_id = stored.row.turn.turn_id,
                      .events = events,
                      .first_number = first == first_numbers.end() ? 0 : first->second});
    };
    for (int round = 0; round < kRounds; ++round) {
      const auto request = stored.requests.find(round);
      const auto answer = stored.answers.find(round);
      if (request != stored.requests.end()) add(request->second.events);
      if (answer != stored.answers.end()) add(answer->second.events);
    }
  }
  return rows;
}

std::vector<TurnJournal::Overdue> MemoryTables::overdue(Milliseconds now, std::size_t limit) {
  std::vector<const TurnRow*> rows;
  for (const auto& [id, stored] : turns_) {
    const Turn& turn = stored.row.turn;
    if (turn.state == TurnState::awaiting_tools && turn.tool_deadline > 0 &&
        turn.tool_deadline < now) {
      rows.push_back(&stored.row);
    }
  }
  std::ranges::sort(rows, {}, [](const TurnRow* row) {
    return std::tuple(row->turn.tool_deadline, row->turn.id);
  });
  std::vector<TurnJournal::Overdue> found;
  for (const TurnRow* row : rows | std::views::take(limit)) {
    found.push_back(
        {.room = sessions_[row->turn.session].row.session.room, .turn_id = row->turn.turn_id});
  }
  return found;
}

std::optional<SessionRow> MemoryTables::find_session(const Room& room) {
  const auto found = rooms_.find({room.tenant, room.session_id});
  return found == rooms_.end() ? std::nullopt : find_session(found->second);
}

std::optional<SessionRow> MemoryTables::find_session(std::int64_t id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? std::nullopt : std::optional(row_of(found->second));
}

std::optional<SessionRow> MemoryTables::find_initial(std::string_view tenant,
                                                     std::string_view key) {
  for (const auto& [id, session] : sessions_) {
    if (!key.empty() && session.initial_key == key && session.row.session.room.tenant == tenant) {
      return row_of(session);
    }
  }
  return std::nullopt;
}

std::optional<TurnRow> MemoryTables::find_turn(std::int64_t id) {
  const auto found = turns_.find(id);
  return found == turns_.end() ? std::nullopt : std::optional(found->second.row);
}

std::optional<TurnRow> MemoryTables::find_turn(std::int64_t session, std::string_view turn_id) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  for (const std::int64_t id : found->second.turns) {
    if (const TurnRow& row = turns_[id].row; row.turn.turn_id == turn_id) return row;
  }
  return std::nullopt;
}

std::optional<RoundPlace> MemoryTables::find_request(std::int64_t session, std::string_view key) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  for (const std::int64_t id : found->second.turns) {
    for (const auto& [round, request] : turns_[id].requests) {
      if (request.key == key) return RoundPlace{.turn = id, .round = round};
    }
  }
  return std::nullopt;
}

std::optional<Round> MemoryTables::read_round(const RoundPlace& place) {
  const StoredTurn& turn = turns_[place.turn];
  const auto request = turn.requests.find(place.round);
  if (request == turn.requests.end()) return std::nullopt;
  const auto answer = turn.answers.find(place.round);
  return Round{
      .request = request->second,
      .answer = answer == turn.answers.end() ? std::nullopt : std::optional(answer->second)};
}

SessionRow MemoryTables::row_of(const StoredSession& session) const {
  SessionRow row = session.row;
  const auto context = session.contexts.find(row.context_at);
  row.session.solution_context = context == session.contexts.end() ? "" : context->second;
  return row;
}

// The end of a turn changes no row of its session, here as in a database.
Session MemoryTables::with_last_turn(const StoredSession& session) const {
  Session row = session.row.session;
  row.solution_context.clear();
  const auto last = turns_.find(session.row.last);
  if (last != turns_.end()) {
    row.updated_at = std::max(row.updated_at, last->second.row.turn.updated_at);
    row.last_turn = last->second.row.turn.turn_id;
  }
  return row;
}

std::vector<Turn> MemoryTables::turns_of(const StoredSession& session) const {
  std::vector<Turn> turns;
  turns.reserve(session.turns.size());
  for (const std::int64_t id : session.turns) turns.push_back(turns_.at(id).row.turn);
  return turns;
}

std::vector<Round> MemoryTables::rounds_of(const StoredTurn& turn) const {
  std::vector<Round> rounds;
  for (int number = 0;; ++number) {
    const auto request = turn.requests.find(number);
    if (request == turn.requests.end()) return rounds;  // Rounds have no gaps.
    Round& round = rounds.emplace_back(Round{.request = request->second});
    if (const auto answer = turn.answers.find(number); answer != turn.answers.end()) {
      round.answer = answer->second;
    }
  }
}

void MemoryTables::append_events(StoredTurn& turn, int round, std::string_view lines) {
  if (const auto answer = turn.answers.find(round); answer != turn.answers.end()) {
    answer->second.events += lines;
  } else if (const auto request = turn.requests.find(round); request != turn.requests.end()) {
    request->second.events += lines;
  }
}

}  // namespace treaty::store
