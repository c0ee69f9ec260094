// What every journal of turns answers: lists, history, diagnostics, overdue turns.
#include <doctest/doctest.h>

#include "treaty/store/journal.h"
#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::begin;
using testing::complete;
using testing::kRoom;
using testing::settle;
using testing::wait_for;

struct ReadsFixture : testing::StoreFixture {
  using StoreFixture::StoreFixture;

  std::int64_t session() const { return wait_for(store->find_session(kRoom)).value()->id; }
};

std::vector<std::string> names_of(const std::vector<TurnRecord>& turns) {
  std::vector<std::string> names;
  names.reserve(turns.size());
  for (const TurnRecord& turn : turns) names.push_back(turn.turn.turn_id);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TREATY_STORE_TEST(ReadsFixture, "what is not there is nothing, and no failure") {
  CHECK(!wait_for(store->find_session(kRoom)).value());
  CHECK(!wait_for(store->find_turn(kRoom, "t1")).value());
  CHECK(wait_for(store->list_sessions({})).value().empty());
  CHECK(wait_for(store->list_turns(1, 0, 10)).value().empty());
  CHECK(wait_for(store->history(1, 10, 1'000)).value().turns.empty());
  CHECK(wait_for(store->events(1, 0, 10)).value().empty());
  CHECK(wait_for(store->overdue(1, 10)).value().empty());

  REQUIRE(begin(*store, kRoom, "t1"));
  CHECK(!wait_for(store->find_turn(kRoom, "t2")).value());
  CHECK(!wait_for(store->find_turn({"acme", "s1"}, "t1")).value());
}

TREATY_STORE_TEST(ReadsFixture,
                  "sessions are listed newest first, page by page, for one tenant or all") {
  for (const char* name : {"a", "b", "c", "d"}) REQUIRE(begin(*store, {"local", name}, "t1"));
  REQUIRE(begin(*store, {"acme", "x"}, "t1"));
  const auto names = [&](SessionQuery query) {
    Names found;
    for (const Session& session : wait_for(store->list_sessions(std::move(query))).value()) {
      found.push_back(session.room.session_id);
    }
    return found;
  };

  CHECK(names({}) == Names{"x", "d", "c", "b", "a"});
  CHECK(names({.tenant = "acme"}) == Names{"x"});
  CHECK(names({.tenant = "local", .limit = 2}) == Names{"d", "c"});
  const auto first = wait_for(store->list_sessions({.tenant = "local", .limit = 2})).value();
  CHECK(names({.tenant = "local", .before = first.back().id, .limit = 2}) == Names{"b", "a"});
  CHECK(names({.tenant = "nobody"}).empty());
}

TREATY_STORE_TEST(ReadsFixture, "turns are listed in their order, page by page") {
  for (const char* name : {"t1", "t2", "t3"}) REQUIRE(complete(*store, kRoom, name) != 0);

  const auto all = wait_for(store->list_turns(session(), 0, 10)).value();
  const auto rest = wait_for(store->list_turns(session(), 1, 1)).value();

  REQUIRE(all.size() == 3);
  CHECK(all[0].turn_id == "t1");
  CHECK(all[2].number == 3);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].turn_id == "t2");
}

TREATY_STORE_TEST(ReadsFixture, "history is the completed turns before a number, newest first") {
  REQUIRE(complete(*store, kRoom, "t1") != 0);
  const auto second = begin(*store, kRoom, "t2");
  REQUIRE(settle(*store, second->turn, TurnState::failed, "no"));
  REQUIRE(complete(*store, kRoom, "t3") != 0);
  REQUIRE(complete(*store, kRoom, "t4") != 0);

  const auto history = wait_for(store->history(session(), 4, 1'000'000)).value();

  CHECK(names_of(history.turns) == Names{"t3", "t1"});
  CHECK(!history.more);
  REQUIRE(history.turns[0].rounds.size() == 1);
  CHECK(history.turns[0].rounds[0].request.body == testing::request_of("key of t3").body);
  CHECK(history.turns[0].rounds[0].answer->transcript == "said answer to t3");
}

TREATY_STORE_TEST(ReadsFixture, "a page of history ends before the turn that would be too much") {
  for (const char* name : {"t1", "t2", "t3"}) REQUIRE(complete(*store, kRoom, name) != 0);
  const auto one = wait_for(store->history(session(), 2, 1'000'000)).value();
  const Round& round = one.turns.at(0).rounds.at(0);
  const std::size_t size = round.request.body.size() + round.answer->transcript.size();

  const auto exact = wait_for(store->history(session(), 9, 2 * size)).value();
  const auto least = wait_for(store->history(session(), 9, size - 1)).value();
  const auto last = wait_for(store->history(session(), 2, size - 1)).value();

  CHECK(names_of(exact.turns) == Names{"t3", "t2"});
  CHECK(exact.more);
  CHECK(names_of(least.turns) == Names{"t3"});
  CHECK(least.more);
  CHECK(names_of(last.turns) == Names{"t1"});
  CHECK(!last.more);
}

TREATY_STORE_TEST(ReadsFixture,
                  "diagnostics come in the order they were written, without empty ones") {
  const auto first = wait_for(store->transact({.room = kRoom}, [](const View& view) {
    Change change = testing::new_turn(view, kRoom, "t1");
    change.request->events = "accepted";
    return change;
  }));
  REQUIRE(wait_for(store->settle({.turn = first->turn,
                                  .update = {.state = TurnState::completed},
                                  .answer = {.body = "{}", .events = "done"}})));
  REQUIRE(complete(*store, kRoom, "t2") != 0);
  const auto third = begin(*store, kRoom, "t3");
  REQUIRE(wait_for(store->settle({.turn = third->turn,
                                  .update = {.state = TurnState::completed},
                                  .answer = {.body = "{}", .events = "later"}})));
  const auto read = [&](std::int64_t from, std::size_t limit) {
    Names found;
    for (const EventRow& row : wait_for(store->events(session(), from, limit)).value()) {
      found.push_back(std::to_string(row.number) + row.turn_id + row.events);
    }
    return found;
  };

  CHECK(read(0, 10) == Names{"1t1accepted", "1t1done", "3t3later"});
  CHECK(read(2, 10) == Names{"3t3later"});
  CHECK(read(1, 2) == Names{"1t1accepted", "1t1done"});
}

TREATY_STORE_TEST(ReadsFixture, "turns that wait for tools beyond their deadline are overdue") {
  const auto wait_until = [&](const Room& room, Milliseconds deadline) {
    const auto turn = begin(*store, room, "t1");
    return wait_for(
        store->settle({.turn = turn->turn,
                       .update = {.state = TurnState::awaiting_tools, .tool_deadline = deadline},
                       .answer = {.body = "{}"}}));
  };
  REQUIRE(wait_until({"local", "late"}, 100));
  REQUIRE(wait_until({"local", "later"}, 200));
  REQUIRE(wait_until({"local", "in time"}, 900));
  REQUIRE(begin(*store, {"local", "running"}, "t1"));

  const auto all = wait_for(store->overdue(500, 10)).value();
  const auto one = wait_for(store->overdue(500, 1)).value();

  REQUIRE(all.size() == 2);
  CHECK(all[0].room == Room{"local", "late"});
  CHECK(all[1].room == Room{"local", "later"});
  CHECK(all[0].turn_id == "t1");
  CHECK(one.size() == 1);
}

}  // namespace treaty::store
