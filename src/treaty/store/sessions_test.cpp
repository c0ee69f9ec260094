// What every store does to whole sessions: list, delete, branch, prune.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "treaty/store/journal.h"
#include "treaty/testing/stores/machine_places.h"
#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::begin;
using testing::complete;
using testing::kRoom;
using testing::look;
using testing::settle;
using testing::wait_for;

struct SessionsFixture : testing::StoreFixture {
  using StoreFixture::StoreFixture;

  // A completed turn whose request latches a context.
  bool complete_in(const std::string& turn_id, const std::string& context) const {
    const auto turn = wait_for(store->transact({.room = kRoom}, [&](const View& view) {
      Change change = testing::new_turn(view, kRoom, turn_id);
      if (!view.session) change.agent = "default";
      if (!context.empty()) change.solution_context = context;
      return change;
    }));
    return turn && settle(*store, turn->turn, TurnState::completed, "answer to " + turn_id);
  }

  // An execution of that session, which nobody runs.
  bool leave(const std::string& execution, std::int64_t session, const char* event) const {
    auto write = testing::write_of(execution, testing::lease_of(store->machines(), execution),
                                   {testing::checkpoint_of(1, event)}, {"a line"});
    write.session = session;
    write.releases = true;
    return wait_for(store->machines().write(std::move(write))).has_value();
  }

  std::vector<std::string> executions() const {
    const auto rows = wait_for(store->machines().list_executions()).value();
    std::vector<std::string> names;
    for (const ExecutionRow& row : rows) names.push_back(row.execution);
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace

TREATY_STORE_TEST(SessionsFixture, "a session is not deleted while one of its turns runs") {
  const auto turn = begin(*store, kRoom, "t1");

  const auto refused = wait_for(store->delete_session(kRoom));

  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::conflict);
  REQUIRE(settle(*store, turn->turn, TurnState::awaiting_tools, "wait"));
  CHECK(wait_for(store->delete_session(kRoom)).value());
}

TREATY_STORE_TEST(SessionsFixture, "a turn whose process is gone does not keep its session") {
  REQUIRE(begin(*store, kRoom, "t1"));
  store.reset();  // With the process that ran it.
  store = place->open();

  CHECK(wait_for(store->delete_session(kRoom)).value());
  CHECK(wait_for(store->claim_abandoned({}, {})).value().empty());
}

TREATY_STORE_TEST(SessionsFixture, "a view names the turn whose process is gone") {
  const auto turn = begin(*store, kRoom, "t1");
  CHECK(look(*store, {.room = kRoom, .turn_id = "t1"}).abandoned == 0);
  store.reset();
  store = place->open();

  CHECK(look(*store, {.room = kRoom, .turn_id = "t1"}).abandoned == turn->turn);
  CHECK(look(*store, {.room = kRoom}).abandoned == turn->turn);
  REQUIRE(wait_for(store->claim_abandoned({}, {})).value().size() == 1);
  CHECK(look(*store, {.room = kRoom, .turn_id = "t1"}).abandoned == 0);
}

TREATY_STORE_TEST(SessionsFixture, "one abandoned turn is claimed without the others") {
  const auto first = begin(*store, kRoom, "t1");
  const auto second = begin(*store, {"local", "other"}, "t1");
  store.reset();
  store = place->open();

  const auto one = wait_for(store->claim_abandoned({}, second->turn)).value();
  const auto others = wait_for(store->claim_abandoned({}, {})).value();

  REQUIRE(one.size() == 1);
  CHECK(one.front().record.turn.id == second->turn);
  REQUIRE(others.size() == 1);
  CHECK(others.front().record.turn.id == first->turn);
}

TREATY_STORE_TEST(SessionsFixture, "many abandoned turns are claimed a few at a time, each once") {
  constexpr std::size_t kTurns = TurnJournal::kMostClaimed + 3;
  for (std::size_t i = 0; i < kTurns; ++i) begin(*store, {"local", std::to_string(i)}, "t1");
  store.reset();
  store = place->open();

  const auto first = wait_for(store->claim_abandoned({}, {})).value();
  const auto rest = wait_for(store->claim_abandoned({}, {})).value();

  CHECK(first.size() == TurnJournal::kMostClaimed);
  CHECK(rest.size() == 3);
  std::set<std::int64_t> claimed;
  for (const auto& one : first) claimed.insert(one.record.turn.id);
  for (const auto& one : rest) claimed.insert(one.record.turn.id);
  CHECK(claimed.size() == kTurns);
  CHECK(wait_for(store->claim_abandoned({}, {})).value().empty());
}

TREATY_STORE_TEST(SessionsFixture, "a turn is claimed with its newest round") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::awaiting_tools, "wait"));
  REQUIRE(wait_for(store->transact({.room = kRoom, .turn_id = "t1"}, [&](const View&) {
    Change change{.turn = turn->turn};
    change.update = TurnUpdate{.state = TurnState::accepted, .round = 1, .events = 3};
    change.request = testing::request_of("results", 1);
    return change;
  })));
  store.reset();
  store = place->open();

  const auto claimed = wait_for(store->claim_abandoned({}, {})).value();

  REQUIRE(claimed.size() == 1);
  REQUIRE(claimed.front().record.rounds.size() == 1);
  CHECK(claimed.front().record.rounds.front().request == testing::request_of("results", 1));
}

TREATY_STORE_TEST(SessionsFixture, "the row of a deleted turn is never given to another") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  REQUIRE(wait_for(store->delete_session(kRoom)).value());

  const auto next = begin(*store, kRoom, "t1");

  CHECK(next->turn > turn->turn);
  CHECK(!settle(*store, turn->turn, TurnState::completed, "too late"));
}

TREATY_STORE_TEST(SessionsFixture,
                  "a branch has copies of the completed turns up to the one it is from") {
  REQUIRE(complete(*store, kRoom, "t1") != 0);
  const auto failed = begin(*store, kRoom, "t2");
  REQUIRE(settle(*store, failed->turn, TurnState::failed, "no"));
  REQUIRE(complete(*store, kRoom, "t3") != 0);
  REQUIRE(complete(*store, kRoom, "t4") != 0);

  const auto branched = wait_for(store->branch(kRoom, "t3", "s2"));

  REQUIRE(branched);
  CHECK(branched->turns == 2);
  const Room room{"local", "s2"};
  const auto turns = wait_for(store->list_turns(branched->id, 0, 10)).value();
  REQUIRE(turns.size() == 2);
  CHECK(turns[0].turn_id == "t1");
  CHECK(turns[1].turn_id == "t3");
  CHECK(turns[1].number == 2);
  const auto copy = wait_for(store->find_turn(room, "t3")).value();
  const auto source = wait_for(store->find_turn(kRoom, "t3")).value();
  CHECK(copy->rounds == source->rounds);
  CHECK(copy->turn.id != source->turn.id);
  CHECK(look(*store, {.room = room}).newest->turn_id == "t3");
  CHECK(look(*store, {.room = room, .key = "key of t1"}).same_turn->turn_id == "t1");
  CHECK(wait_for(store->find_session(room)).value() == *branched);
}

TREATY_STORE_TEST(SessionsFixture, "a branch goes on by itself, and so does what it came from") {
  REQUIRE(complete(*store, kRoom, "t1") != 0);
  REQUIRE(wait_for(store->branch(kRoom, "t1", "s2")));

  REQUIRE(complete(*store, {"local", "s2"}, "t2") != 0);
  REQUIRE(wait_for(store->delete_session(kRoom)).value());

  const auto turn = wait_for(store->find_turn({"local", "s2"}, "t2")).value();
  REQUIRE(turn);
  CHECK(turn->turn.number == 2);
  CHECK(wait_for(store->find_turn({"local", "s2"}, "t1")).value()->rounds.size() == 1);
}

TREATY_STORE_TEST(SessionsFixture,
                  "a branch has the solution context of its turn, not of the newest") {
  REQUIRE(complete_in("t1", "first"));
  REQUIRE(complete_in("t2", ""));
  REQUIRE(complete_in("t3", "second"));

  const auto early = wait_for(store->branch(kRoom, "t2", "early"));
  const auto late = wait_for(store->branch(kRoom, "t3", "late"));
  const auto again = wait_for(store->branch({"local", "late"}, "t1", "again"));

  CHECK(wait_for(store->solution_context(early->id)) == "first");
  CHECK(wait_for(store->solution_context(late->id)) == "second");
  CHECK(wait_for(store->solution_context(again->id)) == "first");
  CHECK(early->agent == "default");
  CHECK(look(*store, {.room = {"local", "early"}}).session->solution_context == "first");
}

TREATY_STORE_TEST(SessionsFixture, "a branch of large turns with many rounds is a whole copy") {
  const std::string large(700'000, 'x');
  for (const std::string turn_id : {"t1", "t2", "t3"}) {
    const auto turn = begin(*store, kRoom, turn_id);
    REQUIRE(turn);
    for (int round = 0; round < 3; ++round) {
      const TurnState state = round < 2 ? TurnState::awaiting_tools : TurnState::completed;
      REQUIRE(settle(*store, turn->turn, state, turn_id + large, round));
      if (round == 2) continue;
      REQUIRE(wait_for(store->transact({.room = kRoom}, [&](const View&) {
        return Change{.turn = turn->turn,
                      .update = TurnUpdate{.state = TurnState::accepted, .round = round + 1},
                      .request = testing::request_of(turn_id, round + 1)};
      })));
    }
  }
  REQUIRE(complete_in("t4", large));

  const auto branched = wait_for(store->branch(kRoom, "t4", "s2"));

  REQUIRE(branched);
  CHECK(branched->turns == 4);
  for (const std::string turn_id : {"t1", "t2", "t3", "t4"}) {
    const auto copy = wait_for(store->find_turn({"local", "s2"}, turn_id)).value();
    const auto source = wait_for(store->find_turn(kRoom, turn_id)).value();
    REQUIRE((copy && source));
    CHECK(copy->rounds == source->rounds);
    CHECK(copy->turn.number == source->turn.number);
  }
  CHECK(wait_for(store->solution_context(branched->id)) == large);
  CHECK(look(*store, {.room = {"local", "s2"}}).newest->turn_id == "t4");
}

TREATY_STORE_TEST(SessionsFixture, "sessions are found and listed without their solution context") {
  REQUIRE(complete_in("t1", "large"));

  const auto found = wait_for(store->find_session(kRoom)).value();
  const auto listed = wait_for(store->list_sessions({})).value();

  REQUIRE((found && listed.size() == 1));
  CHECK(found->solution_context.empty());
  CHECK(listed.front() == *found);
  CHECK(wait_for(store->solution_context(found->id)) == "large");
  CHECK(wait_for(store->solution_context(found->id + 1)) == "");
}

TREATY_STORE_TEST(SessionsFixture, "turns are listed without the calls that they wait for") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(wait_for(
      store->settle({.turn = turn->turn,
                     .update = {.state = TurnState::awaiting_tools, .pending = "[a long list]"},
                     .answer = testing::answer_of("wait")})));

  CHECK(wait_for(store->list_turns(turn->session, 0, 10)).value().front().pending.empty());
  CHECK(wait_for(store->find_turn(kRoom, "t1")).value()->turn.pending == "[a long list]");
}

// --- The executions of machines follow their session.

TREATY_STORE_TEST(SessionsFixture, "the executions of a session are deleted with it") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  REQUIRE(complete(*store, {"local", "other"}, "t1") != 0);
  REQUIRE(leave("ours", turn->session, "machine_end"));
  REQUIRE(leave("ours.1.0", turn->session, "waiting"));
  REQUIRE(leave("ours.2.launch0", turn->session, "execute"));
  REQUIRE(leave("theirs", turn->session + 1, "machine_end"));
  REQUIRE(leave("of no session", 0, "machine_end"));

  CHECK(wait_for(store->delete_session(kRoom)).value());

  CHECK(executions() == std::vector<std::string>{"of no session", "theirs"});
  CHECK(!wait_for(store->machines().find_execution("ours")).value());
}

TREATY_STORE_TEST(SessionsFixture, "a signal is not lost to a machine of a deleted session") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  auto write = testing::write_of("ours", testing::lease_of(store->machines(), "ours"),
                                 {testing::checkpoint_of(1, "waiting", "wait", "c")});
  write.session = turn->session;
  write.releases = true;
  REQUIRE(wait_for(store->machines().write(std::move(write))));
  REQUIRE(wait_for(store->delete_session(kRoom)).value());

  CHECK(wait_for(store->machines().send_signal("c", "1")).value().empty());

  CHECK(testing::take(store->machines(), "another", "c") == "1");
}

TREATY_STORE_TEST(SessionsFixture,
                  "a machine that runs for a deleted session writes nothing more") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  const std::int64_t token = testing::lease_of(store->machines(), "ours");
  const std::int64_t child = testing::lease_of(store->machines(), "ours.1.0");
  auto write = testing::write_of("ours", token, {testing::checkpoint_of(1, "execute")}, {"1"});
  write.session = turn->session;
  REQUIRE(wait_for(store->machines().write(write)));

  REQUIRE(wait_for(store->delete_session(kRoom)).value());

  CHECK(testing::is_conflict(wait_for(store->machines().write(write))));
  write.execution = "ours.1.0";  // It has not written anything yet.
  write.token = child;
  CHECK(testing::is_conflict(wait_for(store->machines().write(write))));
  CHECK(executions().empty());
}

TREATY_STORE_TEST(SessionsFixture, "prune deletes executions with their session") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  REQUIRE(leave("ours", turn->session, "machine_end"));

  CHECK(wait_for(store->prune(5'000, std::nullopt)).value().sessions == 1);

  CHECK(executions().empty());
}

TREATY_STORE_TEST(SessionsFixture, "prune spares a session for which a machine runs") {
  const auto turn = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  const std::int64_t token = testing::lease_of(store->machines(), "ours");
  auto write = testing::write_of("ours", token, {testing::checkpoint_of(1, "execute")});
  write.session = turn->session;
  REQUIRE(wait_for(store->machines().write(write)));

  CHECK(wait_for(store->prunable(5'000, std::nullopt)).value().sessions == 0);
  CHECK(wait_for(store->prune(5'000, std::nullopt)).value().sessions == 0);
  REQUIRE(wait_for(store->machines().release("ours", token)));
  CHECK(wait_for(store->prune(5'000, std::nullopt)).value().sessions == 1);
}

TREATY_STORE_TEST(SessionsFixture, "a branch from an opening turn is empty and knows that turn") {
  REQUIRE(wait_for(store->transact({.room = kRoom}, [](const View&) {
    return Change{.open = NewSession{.room = kRoom, .opening_turn = "t0"}};
  })));

  const auto branched = wait_for(store->branch(kRoom, "t0", "s2"));

  REQUIRE(branched);
  CHECK(branched->turns == 0);
  CHECK(branched->opening_turn == "t0");
}

TREATY_STORE_TEST(SessionsFixture, "prune deletes sessions that nothing was written to since") {
  REQUIRE(complete(*store, {"local", "old"}, "t1") != 0);
  REQUIRE(complete(*store, {"acme", "old"}, "t1") != 0);
  REQUIRE(begin(*store, {"local", "running"}, "t1"));
  const auto slow = begin(*store, {"local", "slow"}, "t1");
  time = 5'000;
  REQUIRE(settle(*store, slow->turn, TurnState::completed, "late"));
  REQUIRE(complete(*store, {"local", "new"}, "t1") != 0);

  const auto could = wait_for(store->prunable(5'000, std::nullopt)).value();
  CHECK(could.sessions == 2);
  CHECK(could.turns == 2);
  const auto ours = wait_for(store->prune(5'000, "local")).value();
  CHECK(ours.sessions == 1);
  CHECK(!wait_for(store->find_session({"local", "old"})).value());
  CHECK(wait_for(store->find_session({"acme", "old"})).value());
  const auto all = wait_for(store->prune(5'000, std::nullopt)).value();

  CHECK(all.sessions == 1);
  CHECK(all.turns == 1);
  CHECK(wait_for(store->list_sessions({})).value().size() == 3);
  CHECK(wait_for(store->prunable(5'000, std::nullopt)).value().sessions == 0);
}

}  // namespace treaty::store
