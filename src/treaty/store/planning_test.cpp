#include "treaty/store/planning.h"

#include <doctest/doctest.h>

#include <map>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::kRoom;

constexpr WriterIdentity kWriter{.owner = 7, .now = 1'000};

// One session with its turns, by their ids.
class Rows final : public JournalRows {
 public:
  std::optional<SessionRow> session{};
  std::map<std::int64_t, TurnRow> turns{};

  std::optional<SessionRow> find_session(const Room& room) override {
    return session && session->session.room == room ? session : std::nullopt;
  }
  std::optional<SessionRow> find_session(std::int64_t id) override {
    return session && session->session.id == id ? session : std::nullopt;
  }
  std::optional<SessionRow> find_initial(std::string_view /*tenant*/,
                                         std::string_view /*key*/) override {
    return std::nullopt;
  }
  std::optional<TurnRow> find_turn(std::int64_t id) override {
    const auto found = turns.find(id);
    return found == turns.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<TurnRow> find_turn(std::int64_t /*session*/, std::string_view turn_id) override {
    for (const auto& [id, row] : turns) {
      if (row.turn.turn_id == turn_id) return row;
    }
    return std::nullopt;
  }
  std::optional<RoundPlace> find_request(std::int64_t /*session*/,
                                         std::string_view /*key*/) override {
    return std::nullopt;
  }
  std::optional<Round> read_round(const RoundPlace& /*place*/) override { return std::nullopt; }

  std::expected<ChangePlan, Error> plan(const Change& change, const Lookup& lookup = {kRoom},
                                        const WriterIdentity& writer = kWriter) {
    return plan_change(*this, lookup, look_up(*this, lookup, [](std::int64_t) { return false; }),
                       change, writer);
  }
};

// A session with turns 1, 2, … in these states.
Rows rows_with(const std::vector<TurnState>& states) {
  Rows rows;
  rows.session = SessionRow{.session = {.id = 1, .room = kRoom, .opening_turn = "opening"}};
  for (const TurnState state : states) {
    const auto id = static_cast<std::int64_t>(rows.turns.size()) + 1;
    rows.turns[id] = {.turn = {.id = id,
                               .session = 1,
                               .number = id,
                               .turn_id = "t" + std::to_string(id),
                               .state = state},
                      .owner = kWriter.owner,
                      .previous = rows.session->newest};
    if (!is_dead(state)) rows.session->newest = id;
    rows.session->last = id;
    rows.session->session.turns = id;
  }
  return rows;
}

Change begin(const std::string& turn_id) {
  return {.begin = NewTurn{.turn_id = turn_id, .mode = "General"}, .request = RequestRecord{}};
}

Change update(std::int64_t turn, TurnState state) {
  return {.turn = turn, .update = TurnUpdate{.state = state}};
}

}  // namespace

TEST_CASE("A turn moves only along the arrows of its states") {
  using enum TurnState;
  const auto targets_of = [](TurnState from, bool retryable = false) {
    std::vector<TurnState> targets;
    for (const TurnState to : {accepted, awaiting_tools, completed, failed, cancelled, expired}) {
      if (leads_to({.state = from, .retryable = retryable}, to)) targets.push_back(to);
    }
    return targets;
  };

  CHECK(targets_of(accepted) == std::vector{awaiting_tools, completed, failed, expired});
  CHECK(targets_of(awaiting_tools) == std::vector{accepted, failed, cancelled, expired});
  CHECK(targets_of(failed, true) == std::vector{accepted});
  for (const TurnState end : {completed, failed, cancelled, expired}) {
    CHECK(targets_of(end).empty());
  }
}

TEST_CASE("A first turn is planned together with its session") {
  Rows rows;
  Change change = begin("t1");
  change.open = NewSession{.room = kRoom, .opening_turn = "opening"};
  change.agent = "default";
  change.solution_context = "C++";

  const auto plan = rows.plan(change);

  REQUIRE(plan);
  CHECK(plan->opens);
  CHECK(plan->updates_session);
  CHECK(plan->turn_write == ChangePlan::Write::insert);
  CHECK(plan->session.session.agent == "default");
  CHECK(plan->session.session.turns == 1);
  CHECK(plan->session.context_at == 1);
  CHECK(plan->turn.turn.number == 1);
  CHECK(plan->turn.owner == kWriter.owner);
}

TEST_CASE("A change that does not fit is refused before anything is planned") {
  Rows rows = rows_with({TurnState::completed});

  CHECK(!rows.plan(begin("t1")));
  CHECK(!rows.plan({.open = NewSession{.room = kRoom}}));
  CHECK(!rows.plan(begin("t2"), {kRoom}, {.owner = 0}));
  CHECK(!rows.plan(update(1, TurnState::failed)));
  CHECK(!rows.plan(update(9, TurnState::failed)));
  CHECK(!Rows().plan(begin("t1")));
  CHECK(rows.plan(begin("t2")));
}

TEST_CASE("Another process' running turn cannot be ended") {
  Rows rows = rows_with({TurnState::accepted});

  CHECK(rows.plan(update(1, TurnState::failed)));
  CHECK(!rows.plan(update(1, TurnState::failed), {kRoom}, {.owner = 8}));
}

TEST_CASE("A session goes on from the newest living turn when its newest one dies") {
  Rows rows = rows_with({TurnState::completed, TurnState::failed, TurnState::awaiting_tools});

  const auto plan = rows.plan(update(3, TurnState::expired));

  REQUIRE(plan);
  CHECK(plan->session.newest == 1);
  CHECK(newest_living(rows, 2) == 1);
}

TEST_CASE("A branch numbers its copies anew, and nobody runs them") {
  SessionRow branch{.newest = 7};
  branch.session.turns = 2;

  const TurnRow copy =
      copy_for_branch({.id = 5, .number = 9, .turn_id = "t9", .has_streamed = true}, branch);

  CHECK(copy.turn.id == 0);
  CHECK(copy.turn.number == 3);
  CHECK(copy.turn.turn_id == "t9");
  CHECK(!copy.turn.has_streamed);
  CHECK(copy.owner == 0);
  CHECK(copy.previous == 7);
  CHECK(branch.session.turns == 3);
}

TEST_CASE("A context that is latched already is not written again") {
  Rows rows = rows_with({TurnState::completed});
  Change change = begin("t2");
  change.solution_context = "blue";
  rows.session->session.solution_context = "blue";
  rows.session->context_at = 1;

  const auto same = rows.plan(change);
  change.solution_context = "red";
  const auto other = rows.plan(change);

  REQUIRE((same && other));
  CHECK(!same->latches);
  CHECK(same->session.context_at == 1);
  CHECK(other->latches);
  CHECK(other->session.context_at == 2);
}

TEST_CASE("A branch takes over the opening turn only when its end is not copied") {
  Rows rows = rows_with({TurnState::completed, TurnState::failed});

  const auto copied = plan_branch(rows, kRoom, "t1", "s2");
  const auto left_behind = plan_branch(rows, kRoom, "t2", "s2");
  const auto opening = plan_branch(rows, kRoom, "opening", "s2");

  REQUIRE((copied && left_behind && opening));
  CHECK(copied->session.session.opening_turn.empty());
  CHECK(copied->last_number == 1);
  CHECK(left_behind->session.session.opening_turn == "t2");
  CHECK(opening->session.session.opening_turn == "opening");
  CHECK(opening->last_number == 0);
  CHECK(plan_branch(rows, kRoom, "t9", "s2").error().code == ErrorCode::not_found);
  CHECK(plan_branch(rows, kRoom, "t1", "s1").error().code == ErrorCode::conflict);
}

TEST_CASE("The copy of an answer names the session that it is in, and changes no text") {
  const Room into{.tenant = "local", .session_id = "s2"};

  CHECK(renamed_body(R"({"SessionId":"s1","Text":"\"SessionId\":\"s1\""})", kRoom, into) ==
        R"({"SessionId":"s2","Text":"\"SessionId\":\"s1\""})");
  CHECK(renamed_body(R"({"sessionId":"s1"})", kRoom, into) == R"({"sessionId":"s2"})");
  CHECK(renamed_body("no document", kRoom, into) == "no document");
}

TEST_CASE("The copy of an answer is renamed however the answer is spaced and escaped") {
  const Room into{.tenant = "local", .session_id = "a \"new\" one"};

  CHECK(
      renamed_body(R"({"Result" : {"SessionId" : "s1", "TurnId": "t1"} , "n": 1})", kRoom, into) ==
      R"({"Result" : {"SessionId" : "a \"new\" one", "TurnId": "t1"} , "n": 1})");
  CHECK(renamed_body("{\"result\":{\n  \"sessionId\":\n\"\\u0073\\u0031\"}}", kRoom, into) ==
        "{\"result\":{\n  \"sessionId\":\n\"a \\\"new\\\" one\"}}");
}

TEST_CASE("The copy of an answer changes no other member that looks like the name of the session") {
  const Room into{.tenant = "local", .session_id = "s2"};
  const std::string other = R"({"SessionId":"s9","Result":{"Files":[{"SessionId":"s1"}]}})";

  CHECK(renamed_body(other, kRoom, into) == other);
}

TEST_CASE("A session is prunable when it is old and nothing in it runs") {
  const Session session{.updated_at = 10};

  CHECK(is_prunable(session, {}, 11));
  CHECK(!is_prunable(session, {}, 10));
  CHECK(!is_prunable(session, {{.state = TurnState::accepted}}, 11));
}

}  // namespace treaty::store
