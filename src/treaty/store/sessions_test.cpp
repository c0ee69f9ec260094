// What every store does to whole sessions: delete, branch, prune.
#include <doctest/doctest.h>

#include "treaty/store/journal.h"
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

  CHECK(early->solution_context == "first");
  CHECK(late->solution_context == "second");
  CHECK(again->solution_context == "first");
  CHECK(early->agent == "default");
  CHECK(wait_for(store->find_session({"local", "early"})).value()->solution_context == "first");
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
