#include "treaty/store/sqlite/connections.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::begin;
using testing::FullDisk;
using testing::open_store;
using testing::wait_for;

// The store asks for the time once a transaction, on its writing thread: a way to count them, and
// to hold the writer while more comes in.
struct ConnectionsFixture {
  testing::TemporaryDirectory directory;
  std::atomic<int> transactions = 0;
  std::unique_ptr<Store> store =
      open_store(directory.path() + "/treaty.db", {.clock = testing::wall_clock([this] {
                                                     ++transactions;
                                                     return Milliseconds{1};
                                                   })});

  // The first operation waits until all others are in the queue.
  std::vector<std::expected<Applied, Error>> decide_together(
      std::vector<std::pair<Room, ChangeFunction>> decisions) {
    std::promise<void> all_wait;
    auto gate = all_wait.get_future().share();
    boost::asio::io_context loop;
    std::vector<std::expected<Applied, Error>> answers(decisions.size());
    const auto spawn = [&](Room room, ChangeFunction decide, auto then) {
      boost::asio::co_spawn(loop, store->transact({.room = std::move(room)}, std::move(decide)),
                            [=](const std::exception_ptr&, std::expected<Applied, Error> answer) {
                              then(std::move(answer));
                            });
    };
    spawn(
        {"local", "gate"}, [gate](const View&) { return gate.wait(), Change{}; },
        [](const std::expected<Applied, Error>&) {});
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      spawn(
          decisions[i].first, decisions[i].second,
          [&answers, i](std::expected<Applied, Error> answer) { answers[i] = std::move(answer); });
    }
    loop.poll();  // Every coroutine runs until it waits for the store.
    all_wait.set_value();
    loop.run();
    return answers;
  }
};

std::pair<Room, ChangeFunction> opening(int number) {
  const Room room{"local", "s" + std::to_string(number)};
  return {room, [=](const View& view) { return testing::new_turn(view, room, "t1"); }};
}

}  // namespace

TEST_CASE_FIXTURE(ConnectionsFixture, "all that waits, up to 64 operations, is one transaction") {
  std::vector<std::pair<Room, ChangeFunction>> decisions;
  decisions.reserve(128);
  for (int i = 0; i < 128; ++i) decisions.push_back(opening(i));

  const auto answers = decide_together(std::move(decisions));

  for (const auto& answer : answers) CHECK(answer);
  CHECK(transactions <= 1 + 3);  // The gate alone or with some, then the rest.
}

TEST_CASE_FIXTURE(ConnectionsFixture, "a refusal does not undo the others of its transaction") {
  REQUIRE(begin(*store, {"local", "s1"}, "t1"));
  std::vector<std::pair<Room, ChangeFunction>> decisions;
  decisions.push_back(opening(7));
  decisions.push_back({{"local", "s1"}, [](const View&) {
                         return Change{.open = NewSession{.room = {"local", "s1"}}};
                       }});
  decisions.push_back(opening(8));

  const auto answers = decide_together(std::move(decisions));

  CHECK(answers[0]);
  REQUIRE(!answers[1]);
  CHECK(answers[1].error().code == ErrorCode::conflict);
  CHECK(answers[2]);
  CHECK(wait_for(store->find_turn({"local", "s7"}, "t1")).value());
  CHECK(wait_for(store->find_turn({"local", "s8"}, "t1")).value());
}

TEST_CASE_FIXTURE(ConnectionsFixture, "decisions of one transaction see each other") {
  const Room room{"local", "s1"};
  std::vector<std::pair<Room, ChangeFunction>> decisions;
  std::vector<bool> found(4);
  decisions.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    decisions.push_back({room, [&, i](const View& view) {
                           found[i] = view.session.has_value();
                           return testing::new_turn(view, room, "t" + std::to_string(i));
                         }});
  }

  const auto answers = decide_together(std::move(decisions));

  CHECK(found == std::vector<bool>{false, true, true, true});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    REQUIRE(answers[i]);
    CHECK(answers[i]->number == static_cast<std::int64_t>(i) + 1);
  }
}

TEST_CASE_FIXTURE(ConnectionsFixture, "an operation that breaks its transaction fails alone") {
  // A request under the id of another one: nothing that a decision should ever ask for.
  const auto turn = begin(*store, {"local", "s1"}, "t1");
  const auto request = [&](const View&) {
    return Change{.turn = turn->turn, .request = testing::request_of("k", 1)};
  };
  std::vector<std::pair<Room, ChangeFunction>> decisions;
  decisions.push_back(opening(7));
  decisions.push_back({{"local", "s1"}, request});
  decisions.push_back({{"local", "s1"}, request});
  decisions.push_back(opening(8));

  const auto answers = decide_together(std::move(decisions));

  CHECK(answers[0]);
  CHECK(answers[1]);
  REQUIRE(!answers[2]);
  CHECK(answers[2].error().code == ErrorCode::conflict);
  CHECK(answers[3]);
  CHECK(wait_for(store->find_turn({"local", "s8"}, "t1")).value());
}

TEST_CASE_FIXTURE(ConnectionsFixture, "more operations than the queue takes are refused at once") {
  constexpr int kMany = 10'100;
  std::vector<std::pair<Room, ChangeFunction>> decisions;
  decisions.reserve(kMany);
  for (int i = 0; i < kMany; ++i) {
    decisions.push_back({{"local", "s1"}, [](const View&) { return Change{}; }});
  }

  const auto answers = decide_together(std::move(decisions));

  int refused = 0;
  for (const auto& answer : answers) {
    if (answer) continue;
    CHECK(answer.error().code == ErrorCode::unavailable);
    ++refused;
  }
  CHECK(refused > 0);
  CHECK(refused <= 100);
  CHECK(begin(*store, {"local", "after"}, "t1"));
}

TEST_CASE_FIXTURE(ConnectionsFixture, "a store that is closed first does what it was asked to") {
  boost::asio::io_context loop;
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    auto [room, decide] = opening(i);
    boost::asio::co_spawn(loop, store->transact({.room = room}, decide),
                          [&](const std::exception_ptr&, std::expected<Applied, Error> answer) {
                            answered += answer ? 1 : 0;
                          });
  }
  loop.poll();

  store.reset();
  loop.run();

  CHECK(answered == 20);
}

TEST_CASE_FIXTURE(ConnectionsFixture, "the log is written back and does not grow without end") {
  const std::string body(200'000, 'x');
  const Room room{"local", "s1"};
  for (int i = 0; i < 200; ++i) {
    const auto turn = begin(*store, room, std::to_string(i));
    REQUIRE(turn);
    REQUIRE(wait_for(store->settle({.turn = turn->turn,
                                    .update = {.state = TurnState::completed},
                                    .answer = {.body = body}})));
  }

  const auto log = std::filesystem::file_size(directory.path() + "/treaty.db-wal");

  CHECK(log < std::uintmax_t{24} << 20U);  // 40 MB were written.
}

TEST_CASE_FIXTURE(ConnectionsFixture, "turns read while lists take all the time they want") {
  const std::string path = directory.path() + "/other.db";
  auto opened = sqlite::open_database(path, Purpose::run);
  REQUIRE(opened);
  sqlite::Connections connections(path, *std::move(opened), {});
  std::promise<void> seen_enough;
  auto gate = seen_enough.get_future().share();
  boost::asio::io_context loop;
  for (int i = 0; i < 8; ++i) {
    boost::asio::co_spawn(loop, connections.browse([gate](sqlite::Database& database) {
      gate.wait();
      return database.value_of("SELECT 1");
    }),
                          boost::asio::detached);
  }
  loop.poll();

  const auto read = wait_for(
      connections.read([](sqlite::Database& database) { return database.value_of("SELECT 2"); }));

  CHECK(read == 2);
  seen_enough.set_value();
  loop.run();
}

TEST_CASE_FIXTURE(ConnectionsFixture,
                  "while the disk fails nothing changes, and then the store goes on by itself") {
  const Room room{"local", "s1"};
  const auto first = begin(*store, room, "t1");
  REQUIRE(first);
  CHECK(wait_for(store->find_turn(room, "t1")).value());
  {
    const FullDisk disk;
    const auto refused = begin(*store, room, "t2");
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::unavailable);
    CHECK(refused.error().where == directory.path() + "/treaty.db");
    CHECK(refused.error().message.find(directory.path()) == std::string::npos);
    CHECK(!testing::settle(*store, first->turn, TurnState::completed, "lost"));
    CHECK(!wait_for(store->probe()));
    CHECK(!begin(*store, room, "t3"));
    CHECK(!wait_for(store->find_turn(room, "t2")).value());
    CHECK(wait_for(store->find_turn(room, "t1")).value()->turn.state == TurnState::accepted);
  }

  REQUIRE(begin(*store, room, "t2"));
  REQUIRE(testing::settle(*store, first->turn, TurnState::completed, "kept"));
  store.reset();

  const auto again = open_store(directory.path() + "/treaty.db");
  REQUIRE(again);
  CHECK(wait_for(again->find_turn(room, "t1")).value()->rounds[0].answer->body == "kept");
  CHECK(wait_for(again->find_turn(room, "t2")).value()->turn.number == 2);
  CHECK(!wait_for(again->find_turn(room, "t3")).value());
}

TEST_CASE_FIXTURE(ConnectionsFixture, "a probe says whether the store can be written to") {
  CHECK(wait_for(store->probe()));
  CHECK(
      !wait_for(open_store(directory.path() + "/treaty.db", {.purpose = Purpose::read})->probe()));
}

}  // namespace treaty::store
