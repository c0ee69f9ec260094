#include "treaty/store/sqlite/owners.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::begin;
using testing::complete;
using testing::kRoom;
using testing::open_store;
using testing::OtherProcess;
using testing::settle;
using testing::wait_for;

bool begins_a_turn(Store& store) { return begin(store, kRoom, "t1").has_value(); }

struct OwnersFixture {
  testing::TemporaryDirectory directory;
  std::string path = directory.path() + "/treaty.db";
};

}  // namespace

TEST_CASE_FIXTURE(OwnersFixture,
                  "an owner number is gone for every process once its holder has ended") {
  auto mine = sqlite::Owners::open(path);
  auto theirs = sqlite::Owners::open(path);
  REQUIRE(mine);
  REQUIRE(theirs);
  REQUIRE(mine->hold(1));

  CHECK(!mine->is_gone(1));
  CHECK(!theirs->is_gone(1));
  CHECK(theirs->is_gone(2));
  CHECK(!theirs->hold(1));

  {
    const sqlite::Owners ended = std::move(*mine);
  }
  CHECK(theirs->is_gone(1));
}

TEST_CASE_FIXTURE(OwnersFixture, "a symbolic link in the place of the lock file is not followed") {
  const std::string elsewhere = directory.path() + "/elsewhere";
  REQUIRE(::symlink(elsewhere.c_str(), path.c_str()) == 0);

  CHECK(!sqlite::Owners::open(path));
  CHECK(::access(elsewhere.c_str(), F_OK) != 0);
}

TEST_CASE_FIXTURE(OwnersFixture,
                  "turns of a process that lives are left alone; of one that is killed, taken") {
  OtherProcess other(path, begins_a_turn);
  REQUIRE(other.has_done_it());
  const auto store = open_store(path);
  REQUIRE(store);

  CHECK(wait_for(store->claim_abandoned({}, {})).value().empty());
  const auto turn = wait_for(store->find_turn(kRoom, "t1")).value();
  CHECK(!settle(*store, turn->turn.id, TurnState::completed, "not mine"));
  CHECK(!wait_for(store->delete_session(kRoom)));

  other.kill();
  const auto claimed = wait_for(store->claim_abandoned({}, {})).value();

  REQUIRE(claimed.size() == 1);
  CHECK(claimed[0].session.room == kRoom);
  CHECK(claimed[0].record.turn.turn_id == "t1");
  REQUIRE(claimed[0].record.rounds.size() == 1);
  CHECK(claimed[0].record.rounds[0].request == testing::request_of("key of t1"));
  CHECK(wait_for(store->claim_abandoned({}, {})).value().empty());
  CHECK(settle(*store, turn->turn.id, TurnState::completed, "mine now"));
}

TEST_CASE_FIXTURE(OwnersFixture, "a turn that a killed process began is there after a restart") {
  {
    OtherProcess other(path, begins_a_turn);
    REQUIRE(other.has_done_it());
    other.kill();
  }

  const auto store = open_store(path);

  REQUIRE(store);
  CHECK(wait_for(store->find_turn(kRoom, "t1")).value());
  CHECK(wait_for(store->claim_abandoned({}, {})).value().size() == 1);
}

TEST_CASE_FIXTURE(OwnersFixture, "turns that were running when a store was closed are abandoned") {
  std::int64_t turn = 0;
  {
    const auto store = open_store(path);
    REQUIRE(complete(*store, kRoom, "t1") != 0);
    turn = begin(*store, kRoom, "t2")->turn;
  }

  const auto store = open_store(path);
  const auto claimed = wait_for(store->claim_abandoned({}, {})).value();

  REQUIRE(claimed.size() == 1);
  CHECK(claimed[0].record.turn.id == turn);
}

TEST_CASE_FIXTURE(OwnersFixture,
                  "of two processes that look for abandoned turns each takes others") {
  for (const char* name : {"a", "b", "c"}) {
    REQUIRE(begin(*open_store(path), {"local", name}, "t1"));
  }
  const auto one = open_store(path);
  const auto two = open_store(path);

  const auto first = wait_for(one->claim_abandoned({}, {})).value();
  const auto second = wait_for(two->claim_abandoned({}, {})).value();

  CHECK(first.size() == 3);
  CHECK(second.empty());
}

TEST_CASE_FIXTURE(OwnersFixture, "a process that resumes a waiting turn has it from then on") {
  std::int64_t turn = 0;
  {
    const auto store = open_store(path);
    turn = begin(*store, kRoom, "t1")->turn;
    REQUIRE(settle(*store, turn, TurnState::awaiting_tools, "call"));
  }
  const auto store = open_store(path);
  CHECK(wait_for(store->claim_abandoned({}, {})).value().empty());

  REQUIRE(wait_for(store->transact({kRoom}, [&](const View&) {
    return Change{.turn = turn,
                  .update = TurnUpdate{.state = TurnState::accepted, .round = 1},
                  .request = testing::request_of("results", 1)};
  })));

  CHECK(settle(*store, turn, TurnState::completed, "done", 1));
}

}  // namespace treaty::store
