#include "treaty/store/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/try.h"

namespace treaty::store {
namespace {

std::unexpected<Error> refuse(std::string message) {
  return std::unexpected(conflict(std::move(message)));
}

std::unexpected<Error> unknown(std::string_view what) {
  return fail(ErrorCode::not_found, fmt::format("there is no such {}", what));
}

bool is_abandoned(const TurnRow& row, const IsGone& is_gone) {
  return row.turn.state == TurnState::accepted && is_gone(row.owner);
}

// The members of an answer that name that session: its own, and those of the result inside it.
std::vector<json::Value> session_members(const json::Document& answer, std::string_view session) {
  std::vector<json::Value> found;
  for (const auto& object : {answer.root(), json::find_member(answer.root(), "Result"),
                             json::find_member(answer.root(), "result")}) {
    for (const std::string_view name : {"SessionId", "sessionId"}) {
      const auto member = json::find_member(object, name);
      if (member && member->is_string() && member->text() == session) found.push_back(*member);
    }
  }
  return found;
}

// One plan in the making.
struct Planning {
  JournalRows& rows;
  const Lookup& lookup;
  const Found& found;
  const Change& change;
  const WriterIdentity& writer;
  ChangePlan plan{};

  bool has_session() const { return plan.opens || plan.session.session.id != 0; }

  std::expected<void, Error> plan_session() {
    if (!change.open) {
      if (found.session) plan.session = *found.session;
      return {};
    }
    const Room& room = change.open->room;
    const bool is_known =
        room == lookup.room ? found.session.has_value() : rows.find_session(room).has_value();
    if (is_known) return refuse("a session of that name exists already");
    if (!change.open->initial_key.empty() &&
        rows.find_initial(room.tenant, change.open->initial_key)) {
      return refuse("a first request with that key exists already");
    }
    plan.opens = true;
    plan.session.session.room = room;
    plan.session.session.opening_turn = change.open->opening_turn;
    plan.session.session.created_at = writer.now;
    return {};
  }

  std::expected<void, Error> plan_begin() {
    if (!has_session()) return unknown("session");
    if (writer.owner == 0) return refuse("this process does not run turns");
    const std::string& turn_id = change.begin->turn_id;
    const auto is_taken = [&] {
      if (plan.opens) return false;
      if (turn_id == lookup.turn_id) return found.view.named.has_value();
      return rows.find_turn(plan.session.session.id, turn_id).has_value();
    };
    if (is_taken()) return refuse("a turn of that name exists already");
    plan.turn_write = ChangePlan::Write::insert;
    plan.turn.turn = {.number = found.view.last_number + 1,
                      .turn_id = turn_id,
                      .mode = change.begin->mode,
                      .created_at = writer.now,
                      .updated_at = writer.now};
    plan.turn.owner = writer.owner;
    plan.turn.previous = plan.session.newest;
    plan.session.session.turns += 1;
    return {};
  }

  std::expected<void, Error> plan_turn() {
    if (!change.update && !change.request && !change.answer) return {};
    auto row = rows.find_turn(change.turn);
    if (!row) return unknown("turn");
    plan.turn = *std::move(row);
    const Turn& turn = plan.turn.turn;
    if (plan.session.session.id != turn.session) {
      auto session = rows.find_session(turn.session);
      if (plan.opens || !session) return refuse("the turn belongs to another session");
      plan.session = *std::move(session);
    }
    if (change.request && change.request->round != turn.round + 1) {
      return refuse(fmt::format("the next round of the turn is {}", turn.round + 1));
    }
    return change.update ? plan_update(*change.update) : std::expected<void, Error>();
  }

  std::expected<void, Error> plan_update(const TurnUpdate& update) {
    Turn& turn = plan.turn.turn;
    if (!leads_to(turn, update.state)) {
      return refuse(fmt::format("the turn is {} and cannot become {}", name_of(turn.state),
                                name_of(update.state)));
    }
    if (turn.state == TurnState::accepted && plan.turn.owner != writer.owner) {
      return refuse("another process runs the turn");
    }
    if (update.state == TurnState::accepted && writer.owner == 0) {
      return refuse("this process does not run turns");
    }
    if (turn.state == TurnState::failed && plan.session.newest > turn.id) {
      return refuse("a newer turn has taken its place");
    }
    if (update.state == TurnState::accepted) {
      if (is_dead(turn.state)) {
        plan.turn.previous = plan.session.newest;
        plan.session.newest = turn.id;
        move_behind_last();
      }
      plan.turn.owner = writer.owner;
    } else if (is_dead(update.state) && plan.session.newest == turn.id) {
      plan.session.newest = newest_living(rows, plan.turn.previous);
    }
    apply_update(turn, update, writer.now);
    plan.turn_write = ChangePlan::Write::update;
    return {};
  }

  // What a turn says has a number above all that was said before.
  void move_behind_last() {
    const auto last = rows.find_turn(plan.session.last);
    Turn& turn = plan.turn.turn;
    if (!last || last->turn.number <= turn.number) return;
    plan.moved_from = turn.number;
    turn.number = last->turn.number + 1;
    plan.session.last = turn.id;
  }

  std::expected<void, Error> finish() {
    if ((change.agent || change.conversation || change.solution_context) && !has_session()) {
      return unknown("session");
    }
    Session& session = plan.session.session;
    if (change.agent) session.agent = *change.agent;
    if (change.conversation) session.conversation = *change.conversation;
    if (change.solution_context &&
        (plan.session.context_at < 0 || *change.solution_context != session.solution_context)) {
      plan.latches = true;
      plan.session.context_at = plan.turn.turn.number;
    }
    session.updated_at = writer.now;
    plan.updates_session = session.id != 0 || plan.turn_write == ChangePlan::Write::insert;
    return {};
  }
};

bool is_round(int round) { return round >= 0 && round < kRounds; }

}  // namespace

Error conflict(std::string message) {
  return {.code = ErrorCode::conflict, .message = std::move(message)};
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

Found look_up(JournalRows& rows, const Lookup& lookup, const IsGone& is_gone) {
  Found found;
  if (!lookup.room.session_id.empty()) {
    found.session = rows.find_session(lookup.room);
  } else if (!lookup.key.empty()) {
    found.session = rows.find_initial(lookup.room.tenant, lookup.key);
  }
  if (!found.session) return found;
  View& view = found.view;
  const auto turn_of = [&](std::optional<TurnRow> row) -> std::optional<Turn> {
    if (!row) return std::nullopt;
    if (is_abandoned(*row, is_gone)) view.abandoned = row->turn.id;
    return std::move(row->turn);
  };
  view.session = found.session->session;
  const std::int64_t session = found.session->session.id;
  if (!lookup.turn_id.empty()) view.named = turn_of(rows.find_turn(session, lookup.turn_id));
  view.newest = view.named && view.named->id == found.session->newest
                    ? view.named
                    : turn_of(rows.find_turn(found.session->newest));
  const auto last = view.newest && view.newest->id == found.session->last
                        ? view.newest
                        : turn_of(rows.find_turn(found.session->last));
  view.last_number = last ? last->number : 0;
  if (lookup.key.empty()) return found;
  if (const auto place = rows.find_request(session, lookup.key)) {
    view.same_turn = turn_of(rows.find_turn(place->turn));
    view.same = rows.read_round(*place);
  }
  return found;
}

std::expected<ChangePlan, Error> plan_change(JournalRows& rows, const Lookup& lookup,
                                             const Found& found, const Change& change,
                                             const WriterIdentity& writer) {
  Planning planning{rows, lookup, found, change, writer};
  TREATY_TRY_VOID(planning.plan_session());
  if ((change.request && !is_round(change.request->round)) ||
      (change.answer && !is_round(change.answer->round))) {
    return refuse(fmt::format("a turn has at most {} rounds", kRounds));
  }
  TREATY_TRY_VOID(change.begin ? planning.plan_begin() : planning.plan_turn());
  TREATY_TRY_VOID(planning.finish());
  return std::move(planning.plan);
}

std::expected<void, Error> check_settlement(const Settlement& settlement) {
  if (settlement.update.state != TurnState::accepted && is_round(settlement.answer.round)) {
    return {};
  }
  return refuse("this is not the end of a round");
}

void apply_update(Turn& turn, const TurnUpdate& update, Milliseconds now) {
  turn.has_streamed = false;
  turn.state = update.state;
  turn.round = update.round;
  turn.pending = update.pending;
  turn.tool_deadline = update.tool_deadline;
  turn.error_code = update.error_code;
  turn.retryable = update.retryable;
  turn.events = update.events;
  turn.updated_at = now;
}

std::int64_t newest_living(JournalRows& rows, std::int64_t turn) {
  auto row = rows.find_turn(turn);
  while (row && is_dead(row->turn.state)) row = rows.find_turn(row->previous);
  return row ? row->turn.id : 0;
}

bool has_running(const std::vector<Turn>& turns) {
  return std::ranges::find(turns, TurnState::accepted, &Turn::state) != turns.end();
}

bool has_running(JournalRows& rows, const std::vector<Turn>& turns, const IsGone& is_gone) {
  return std::ranges::any_of(turns, [&](const Turn& turn) {
    if (turn.state != TurnState::accepted) return false;
    const auto row = rows.find_turn(turn.id);
    return row && !is_abandoned(*row, is_gone);
  });
}

bool is_prunable(const Session& session, const std::vector<Turn>& turns, Milliseconds before) {
  return session.updated_at < before && !has_running(turns);
}

std::size_t history_size(const std::vector<Round>& rounds) {
  std::size_t size = 0;
  for (const Round& round : rounds) {
    size += round.request.body.size();
    if (round.answer) size += round.answer->transcript.size();
  }
  return size;
}

void append_events(Round& round, std::string_view lines) {
  (round.answer ? round.answer->events : round.request.events) += lines;
}

bool is_branched(const Turn& turn) { return turn.state == TurnState::completed; }

TurnRow copy_for_branch(const Turn& turn, SessionRow& branch) {
  TurnRow copy{.turn = turn, .previous = branch.newest};
  copy.turn.id = 0;
  copy.turn.number = ++branch.session.turns;
  branch.session.last_turn = turn.turn_id;
  copy.turn.has_streamed = false;
  return copy;
}

std::expected<BranchPlan, Error> plan_branch(JournalRows& rows, const Room& from,
                                             const std::string& turn_id, const std::string& into) {
  const auto source = rows.find_session(from);
  if (!source) return unknown("session");
  const auto end = rows.find_turn(source->session.id, turn_id);
  if (!end && (turn_id.empty() || turn_id != source->session.opening_turn)) {
    return unknown("turn");
  }
  if (rows.find_session({.tenant = from.tenant, .session_id = into})) {
    return refuse("a session of that name exists already");
  }
  BranchPlan plan{.source = source->session.id, .last_number = end ? end->turn.number : 0};
  Session& session = plan.session.session;
  session.room = {.tenant = from.tenant, .session_id = into};
  session.agent = source->session.agent;
  session.conversation = source->session.conversation;
  // A turn that stays behind can still be followed, as the opening turn of a session can.
  if (!end || !is_branched(end->turn)) session.opening_turn = turn_id;
  return plan;
}

std::string renamed_body(std::string body, const Room& from, const Room& into) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  {
    const json::Document answer(body, {.max_size = body.size(), .grammar_only = true});
    for (const json::Value& name : session_members(answer, from.session_id)) {
      places.emplace_back(name.begin(), name.end());
    }
  }
  std::string name;
  json::append_quoted(name, into.session_id);
  std::ranges::sort(places, std::greater());  // The last one first: the others stay where they are.
  for (const auto& [begin, end] : places) body.replace(begin, end - begin, name);
  return body;
}

}  // namespace treaty::store
