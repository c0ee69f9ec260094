#include <doctest/doctest.h>

#include "treaty/store/sqlite/journal.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::complete;
using testing::kRoom;
using testing::open_store;
using testing::settle;
using testing::wait_for;

struct RoomsFixture {
  testing::TemporaryDirectory directory;
  Milliseconds time = 1'000;
  std::unique_ptr<Store> store = open_store(
      directory.path() + "/treaty.db", {.clock = testing::wall_clock([this] { return time; })});

  std::int64_t rows(const char* sql) const {
    auto database = sqlite::Database::open(directory.path() + "/treaty.db", sqlite::Access::read);
    REQUIRE(database);
    return database->value_of(sql);
  }
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

TEST_CASE_FIXTURE(RoomsFixture, "a deleted session leaves nothing behind") {
  REQUIRE(complete_in("t1", "C++"));
  REQUIRE(complete(*store, {"local", "other"}, "t1") != 0);

  CHECK(wait_for(store->delete_session(kRoom)).value());
  CHECK(wait_for(store->delete_leftovers()));

  CHECK(!wait_for(store->find_session(kRoom)).value());
  CHECK(rows("SELECT count(*) FROM sessions") == 1);
  CHECK(rows("SELECT count(*) FROM turns") == 1);
  CHECK(rows("SELECT count(*) FROM names") == 3);
  CHECK(rows("SELECT count(*) FROM requests") == 1);
  CHECK(rows("SELECT count(*) FROM answers") == 1);
  CHECK(rows("SELECT count(*) FROM contexts") == 0);
  CHECK(!wait_for(store->delete_session(kRoom)).value());
}

TEST_CASE_FIXTURE(RoomsFixture,
                  "a branch from nowhere, or into a session that exists, is refused") {
  REQUIRE(complete(*store, kRoom, "t1") != 0);
  const auto refusal_of = [&](const Room& from, const char* turn_id, const char* into) {
    const auto branched = wait_for(store->branch(from, turn_id, into));
    REQUIRE(!branched);
    return branched.error().code;
  };

  CHECK(refusal_of({"local", "nowhere"}, "t1", "s2") == ErrorCode::not_found);
  CHECK(refusal_of({"acme", "s1"}, "t1", "s2") == ErrorCode::not_found);
  CHECK(refusal_of(kRoom, "t9", "s2") == ErrorCode::not_found);
  CHECK(refusal_of(kRoom, "", "s2") == ErrorCode::not_found);
  CHECK(refusal_of(kRoom, "t1", "s1") == ErrorCode::conflict);
  CHECK(rows("SELECT count(*) FROM sessions") == 1);
}

TEST_CASE_FIXTURE(RoomsFixture, "prune deletes more sessions than fit into one transaction") {
  constexpr int kMany = 120;
  for (int i = 0; i < kMany; ++i) {
    REQUIRE(complete(*store, {"local", "s" + std::to_string(i)}, "t1") != 0);
  }

  CHECK(wait_for(store->prune(2'000, std::nullopt)).value().sessions == kMany);

  CHECK(rows("SELECT count(*) FROM names") == 0);
}

}  // namespace treaty::store
