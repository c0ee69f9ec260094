// Branches, deletions and prunes of large sessions: their steps, and what remains when the process
// is killed between two of them.
#include "treaty/store/sqlite/deleting.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "treaty/store/sqlite/branching.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/machine_places.h"
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

const Room kBranch{.tenant = "local", .session_id = "s2"};
constexpr int kTurns = 24;
constexpr std::size_t kLarge = 1'000'000;
constexpr int kCheckpoints = 6;  // Two in a transaction: what is left after two steps is whole.

std::int64_t value_in(const std::string& path, const char* sql) {
  auto database = sqlite::Database::open(path, sqlite::Access::read);
  return database ? database->value_of(sql) : -1;
}

// Turns with answers of a megabyte each, and a machine with large checkpoints.
bool fill(Store& store, const Room& room) {
  std::int64_t session = 0;
  for (int i = 0; i < kTurns; ++i) {
    const auto turn = begin(store, room, "t" + std::to_string(i));
    if (!turn || !settle(store, turn->turn, TurnState::completed, std::string(kLarge, 'x'))) {
      return false;
    }
    session = turn->session;
  }
  const std::string execution = "machine of " + room.session_id;
  const std::int64_t token = testing::lease_of(store.machines(), execution);
  for (int i = 0; i < kCheckpoints; ++i) {
    auto write = testing::write_of(execution, token, {testing::checkpoint_of(i, "execute")},
                                   {std::string(kLarge, 'x')});
    write.checkpoints.front().snapshot.assign(kLarge, ' ');
    write.session = session;
    if (!wait_for(store.machines().write(std::move(write)))) return false;
  }
  return wait_for(store.machines().release(execution, token)).has_value();
}

// A call that is driven a step at a time.
template <class T>
class Stepping {
 public:
  explicit Stepping(Task<T> task) {
    boost::asio::co_spawn(loop_, std::move(task),
                          [this](const std::exception_ptr&, std::expected<T, Error> answer) {
                            answer_ = std::move(answer);
                          });
  }

  bool has_ended() const { return answer_.has_value(); }
  template <class Condition>
  void run_until(const Condition& condition) {
    while (!has_ended() && !condition() && loop_.run_one() > 0) {
    }
  }
  std::expected<T, Error> finish() {
    loop_.run();
    return *std::move(answer_);
  }

 private:
  boost::asio::io_context loop_{};
  std::optional<std::expected<T, Error>> answer_{};
};

struct DeletingFixture {
  testing::TemporaryDirectory directory{testing::quick_place()};
  std::string path = directory.path() + "/treaty.db";
  std::unique_ptr<Store> store{};

  void open() {
    store = open_store(path, {.clock = testing::wall_clock([] { return Milliseconds{1'000}; })});
    REQUIRE(store);
  }
  bool is_hidden() const { return value_in(path, "SELECT count(*) FROM hidden_sessions") > 0; }
  std::int64_t rows(const char* sql) const { return value_in(path, sql); }
  std::uintmax_t log_size() const { return std::filesystem::file_size(path + "-wal"); }

  // A process that is killed while the call has hidden a session and not come to its end.
  template <class Call>
  void kill_during(const Call& call) const {
    OtherProcess other(path, [&](Store& theirs) {
      if (!fill(theirs, kRoom)) return false;
      // The process ends as it is: nothing is put in order, so nobody owns this.
      auto* stepping = new Stepping(call(theirs));
      stepping->run_until([&] { return is_hidden(); });
      return !stepping->has_ended() && is_hidden();
    });
    REQUIRE(other.has_done_it());
  }
};

constexpr std::uintmax_t kSmallLog = std::uintmax_t{24} << 20U;

}  // namespace

TEST_CASE_FIXTURE(DeletingFixture, "while a branch is written others write, and it is not seen") {
  open();
  REQUIRE(fill(*store, kRoom));
  Stepping branching(store->branch(kRoom, "t" + std::to_string(kTurns - 1), "s2"));

  branching.run_until([&] { return is_hidden(); });

  REQUIRE(!branching.has_ended());
  CHECK(complete(*store, {"local", "other"}, "t1") != 0);
  CHECK(!wait_for(store->find_session(kBranch)).value());
  CHECK(wait_for(store->list_sessions({})).value().size() == 2);
  const auto branched = branching.finish();
  REQUIRE(branched);
  CHECK(branched->turns == kTurns);
  CHECK(wait_for(store->list_turns(branched->id, 0, 100)).value().size() == kTurns);
  CHECK(!is_hidden());
  CHECK(log_size() < kSmallLog);
}

TEST_CASE_FIXTURE(DeletingFixture, "while a session is deleted others write, and it is not seen") {
  open();
  REQUIRE(fill(*store, kRoom));
  const std::int64_t session = wait_for(store->find_session(kRoom)).value()->id;
  REQUIRE(wait_for(store->delete_session(kRoom)).value());
  REQUIRE(rows("SELECT count(*) FROM turns") == kTurns);
  Stepping deleting(store->delete_leftovers());

  deleting.run_until([&] { return rows("SELECT count(*) FROM turns") < kTurns; });

  REQUIRE(!deleting.has_ended());
  CHECK(rows("SELECT count(*) FROM turns") > 0);
  CHECK(wait_for(store->list_turns(session, 0, 100)).value().empty());
  CHECK(wait_for(store->history(session, 100, 100'000'000)).value().turns.empty());
  CHECK(wait_for(store->events(session, 0, 100)).value().empty());
  REQUIRE(complete(*store, kRoom, "t1") != 0);  // Another one of that name.
  CHECK(deleting.finish());
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 1);
  CHECK(rows("SELECT count(*) FROM names") == 3);
  CHECK(rows("SELECT count(*) FROM machine_checkpoints") == 0);
  CHECK(rows("SELECT count(*) FROM machine_journal") == 0);
  CHECK(rows("SELECT count(*) FROM machine_latest") == 0);
  CHECK(rows("SELECT count(*) FROM execution_leases") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "a branch whose source is deleted meanwhile is given up whole") {
  open();
  REQUIRE(fill(*store, kRoom));
  Stepping branching(store->branch(kRoom, "t" + std::to_string(kTurns - 1), "s2"));
  branching.run_until([&] { return is_hidden(); });
  REQUIRE(!branching.has_ended());

  REQUIRE(wait_for(store->delete_session(kRoom)).value());
  const auto branched = branching.finish();

  REQUIRE(!branched);
  CHECK(branched.error().code == ErrorCode::not_found);
  REQUIRE(wait_for(store->delete_leftovers()));  // Of the source.
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "a branch whose name is taken meanwhile is given up whole") {
  open();
  REQUIRE(fill(*store, kRoom));
  Stepping branching(store->branch(kRoom, "t" + std::to_string(kTurns - 1), "s2"));
  branching.run_until([&] { return is_hidden(); });
  REQUIRE(!branching.has_ended());

  REQUIRE(complete(*store, kBranch, "t1") != 0);
  const auto branched = branching.finish();

  CHECK(testing::is_conflict(branched));
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == kTurns + 1);
}

TEST_CASE_FIXTURE(DeletingFixture, "half a branch of a killed process is never seen and deleted") {
  kill_during([](Store& theirs) { return theirs.branch(kRoom, "t23", "s2"); });

  open();

  CHECK(!wait_for(store->find_session(kBranch)).value());
  CHECK(wait_for(store->list_sessions({})).value().size() == 1);
  REQUIRE(wait_for(store->prune(0, std::nullopt)));  // Returns when nothing is left over.
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == kTurns);
  CHECK(rows("SELECT count(*) FROM answers") == kTurns);
  CHECK(rows("SELECT count(*) FROM names") == 3 * kTurns);
  CHECK(wait_for(store->branch(kRoom, "t23", "s2")));
}

TEST_CASE_FIXTURE(DeletingFixture, "what a killed process began to delete is deleted by the next") {
  kill_during([](Store& theirs) -> Task<void> {
    (void)co_await theirs.delete_session(kRoom);
    co_return co_await theirs.delete_leftovers();
  });

  open();

  CHECK(!wait_for(store->find_session(kRoom)).value());
  REQUIRE(wait_for(store->prune(0, std::nullopt)));
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 0);
  CHECK(rows("SELECT count(*) FROM answers") == 0);
  CHECK(rows("SELECT count(*) FROM machine_checkpoints") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "what another process has hidden is deleted by a running one") {
  open();
  REQUIRE(fill(*store, kRoom));
  const auto other = open_store(path, {.purpose = Purpose::maintain});
  REQUIRE(other);
  REQUIRE(wait_for(other->delete_session(kRoom)).value());
  REQUIRE(is_hidden());

  REQUIRE(wait_for(store->delete_leftovers()));

  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 0);
  CHECK(rows("SELECT count(*) FROM machine_checkpoints") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "a session is deleted although its rows cannot be") {
  open();
  REQUIRE(fill(*store, kRoom));
  REQUIRE(wait_for(store->delete_session(kRoom)).value());

  {
    const testing::FullDisk full;
    CHECK(!wait_for(store->delete_leftovers()));
  }
  CHECK(is_hidden());
  CHECK(!wait_for(store->find_session(kRoom)).value());

  REQUIRE(wait_for(store->delete_leftovers()));
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "half a branch is deleted when the disk has room again") {
  open();
  REQUIRE(fill(*store, kRoom));
  {
    Stepping branching(store->branch(kRoom, "t23", "s2"));
    branching.run_until([&] { return is_hidden(); });
    const testing::FullDisk full;
    REQUIRE(!branching.finish());
  }
  REQUIRE(is_hidden());

  REQUIRE(wait_for(store->delete_leftovers()));

  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == kTurns);
  CHECK(wait_for(store->branch(kRoom, "t23", "s2")));
}

TEST_CASE_FIXTURE(DeletingFixture, "a branch that is being copied is not taken for leftovers") {
  open();
  REQUIRE(fill(*store, kRoom));
  Stepping branching(store->branch(kRoom, "t23", "s2"));
  branching.run_until([&] { return is_hidden(); });
  REQUIRE(!branching.has_ended());

  REQUIRE(wait_for(store->delete_leftovers()));

  const auto branched = branching.finish();
  REQUIRE(branched);
  CHECK(branched->turns == kTurns);
  CHECK(rows("SELECT count(*) FROM answers") == 2 * kTurns);
}

TEST_CASE_FIXTURE(DeletingFixture, "a prune that was killed leaves whole sessions or none") {
  kill_during([](Store& theirs) {
    complete(theirs, {"local", "small"}, "t1");
    return theirs.prune(std::numeric_limits<Milliseconds>::max(), std::nullopt);
  });

  open();

  CHECK(wait_for(store->list_sessions({})).value().empty());
  const auto pruned =
      wait_for(store->prune(std::numeric_limits<Milliseconds>::max(), std::nullopt));
  REQUIRE(pruned);
  CHECK(!is_hidden());
  CHECK(rows("SELECT count(*) FROM turns") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture,
                  "executions are pruned in steps, and stay whole until the last") {
  open();
  REQUIRE(fill(*store, kRoom));
  Stepping pruning(store->machines().prune_executions({.keep = 0}));
  const auto has_fewer = [&] {
    return rows("SELECT count(*) FROM machine_checkpoints") < kCheckpoints;
  };

  pruning.run_until(has_fewer);

  REQUIRE(!pruning.has_ended());
  const auto record = wait_for(store->machines().find_execution("machine of s1")).value();
  REQUIRE(record);
  CHECK(record->journal.size() == kCheckpoints);
  CHECK(record->snapshot.size() == kLarge);
  CHECK(pruning.finish()->size() == 1);
  CHECK(rows("SELECT count(*) FROM machine_journal") == 0);
}

TEST_CASE_FIXTURE(DeletingFixture, "a context that the client repeats is kept once") {
  open();
  for (const char* turn_id : {"t1", "t2", "t3"}) {
    const auto turn = wait_for(store->transact({.room = kRoom}, [&](const View& view) {
      Change change = testing::new_turn(view, kRoom, turn_id);
      change.solution_context = "C++";
      return change;
    }));
    REQUIRE(turn);
    REQUIRE(settle(*store, turn->turn, TurnState::completed, "done"));
  }

  CHECK(rows("SELECT count(*) FROM contexts") == 1);
}

}  // namespace treaty::store
