// What every journal of turns does: decisions, rounds and their ends.
#include "treaty/store/journal.h"

#include <doctest/doctest.h>

#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::begin;
using testing::complete;
using testing::is_conflict;
using testing::kRoom;
using testing::look;
using testing::settle;
using testing::wait_for;

struct JournalFixture : testing::StoreFixture {
  using StoreFixture::StoreFixture;

  std::unique_ptr<Store> open() const { return place->open(); }
  TurnState state_of(const std::string& turn_id) const {
    const auto found = wait_for(store->find_turn(kRoom, turn_id));
    return found && *found ? (*found)->turn.state : TurnState::expired;
  }
  std::expected<Applied, Error> change(const Change& change, const Lookup& lookup = {kRoom}) const {
    return wait_for(store->transact(lookup, [=](const View&) { return change; }));
  }
  std::expected<Applied, Error> update(std::int64_t turn, TurnState state) const {
    return change({.turn = turn, .update = TurnUpdate{.state = state}});
  }
};

bool is_unknown(const auto& answer) {
  return !answer && answer.error().code == ErrorCode::not_found;
}

}  // namespace

TREATY_STORE_TEST(JournalFixture,
                  "a new turn opens its session and is found by its name and its key") {
  const auto applied = begin(*store, kRoom, "t1");

  REQUIRE(applied);
  CHECK(applied->number == 1);
  const View view = look(*store, {.room = kRoom, .turn_id = "t1", .key = "key of t1"});
  REQUIRE(view.session);
  CHECK(view.session->id == applied->session);
  CHECK(view.session->turns == 1);
  REQUIRE(view.named);
  CHECK(view.named->id == applied->turn);
  CHECK(view.named->state == TurnState::accepted);
  CHECK(view.newest == view.named);
  CHECK(view.same_turn == view.named);
  REQUIRE(view.same);
  CHECK(view.same->request == testing::request_of("key of t1"));
  CHECK(!view.same->answer);
}

TREATY_STORE_TEST(JournalFixture,
                  "a settled turn answers with the same bytes after the store was closed") {
  const auto applied = begin(*store, kRoom, "t1");
  REQUIRE(applied);
  const AnswerRecord answer{.round = 0,
                            .body = std::string("{\"a\":\0\xc3\xa4}", 9),
                            .dialect = contracts::Dialect::camel,
                            .error_code = "timeout",
                            .transcript = "{}",
                            .deltas = "1,2\nab",
                            .first_event = 4,
                            .events = "{}\n{}",
                            .created_at = 99};

  REQUIRE(wait_for(store->settle({.turn = applied->turn,
                                  .update = {.state = TurnState::failed,
                                             .error_code = "timeout",
                                             .retryable = true,
                                             .events = 9},
                                  .answer = answer})));
  store.reset();
  store = open();

  const auto found = wait_for(store->find_turn(kRoom, "t1"));
  REQUIRE(found);
  REQUIRE(*found);
  const TurnRecord& record = **found;
  CHECK(record.turn.state == TurnState::failed);
  CHECK(record.turn.error_code == "timeout");
  CHECK(record.turn.retryable);
  CHECK(record.turn.events == 9);
  REQUIRE(record.rounds.size() == 1);
  CHECK(record.rounds[0].answer == answer);
}

TREATY_STORE_TEST(JournalFixture, "an empty change writes nothing and opens nothing") {
  const auto applied = change({});

  REQUIRE(applied);
  CHECK(applied->session == 0);
  CHECK(!look(*store, {.room = kRoom}).session);
}

TREATY_STORE_TEST(JournalFixture,
                  "sessions of two tenants may have the same name and do not meet") {
  const Room other{.tenant = "acme", .session_id = "s1"};
  REQUIRE(begin(*store, kRoom, "t1"));
  REQUIRE(begin(*store, other, "t1"));

  const View one = look(*store, {.room = kRoom, .turn_id = "t1", .key = "key of t1"});
  const View two = look(*store, {.room = other, .turn_id = "t1", .key = "key of t1"});

  REQUIRE(one.named);
  REQUIRE(two.named);
  CHECK(one.session->id != two.session->id);
  CHECK(one.named->id != two.named->id);
  CHECK(one.same_turn->id == one.named->id);
  CHECK(two.same_turn->id == two.named->id);
}

TREATY_STORE_TEST(JournalFixture, "a session or a turn whose name is taken is refused") {
  REQUIRE(begin(*store, kRoom, "t1"));

  CHECK(is_conflict(change({.open = NewSession{.room = kRoom}})));
  CHECK(is_conflict(change({.open = NewSession{.room = kRoom}}, {{"local", "s9"}})));
  CHECK(is_conflict(change({.begin = NewTurn{.turn_id = "t1"}})));
  CHECK(look(*store, {.room = kRoom}).session->turns == 1);
}

TREATY_STORE_TEST(JournalFixture, "a request without ids is found again by its key alone") {
  const Change first{.open = NewSession{.room = kRoom, .initial_key = "first"},
                     .begin = NewTurn{.turn_id = "t1"},
                     .request = testing::request_of("first")};
  REQUIRE(change(first, {{"local", ""}, "", "first"}));

  const View again = look(*store, {{"local", ""}, "", "first"});
  const View elsewhere = look(*store, {{"acme", ""}, "", "first"});

  REQUIRE(again.session);
  CHECK(again.session->room == kRoom);
  REQUIRE(again.same_turn);
  CHECK(again.same_turn->turn_id == "t1");
  CHECK(!elsewhere.session);
  CHECK(is_conflict(change({.open = NewSession{.room = {"local", "s2"}, .initial_key = "first"}})));
}

TREATY_STORE_TEST(JournalFixture,
                  "agent, conversation and context are fixed by the change that names them") {
  REQUIRE(change({.open = NewSession{.room = kRoom, .opening_turn = "t0"}}));
  REQUIRE(change({.agent = "default", .conversation = "review", .solution_context = "C++"}));

  const auto session = look(*store, {.room = kRoom}).session;

  REQUIRE(session);
  CHECK(session->agent == "default");
  CHECK(session->conversation == "review");
  CHECK(session->solution_context == "C++");
  CHECK(session->opening_turn == "t0");
  CHECK(session->turns == 0);
}

TREATY_STORE_TEST(JournalFixture, "a turn is settled once") {
  const auto applied = begin(*store, kRoom, "t1");
  REQUIRE(settle(*store, applied->turn, TurnState::completed, "first"));

  CHECK(is_conflict(settle(*store, applied->turn, TurnState::completed, "second")));
  CHECK(is_conflict(settle(*store, applied->turn, TurnState::cancelled, "third")));
  CHECK(is_conflict(settle(*store, applied->turn + 1, TurnState::completed, "of no turn")));

  const auto found = wait_for(store->find_turn(kRoom, "t1"));
  CHECK((*found)->rounds[0].answer->body == "first");
  CHECK(state_of("t1") == TurnState::completed);
}

TREATY_STORE_TEST(JournalFixture, "a settlement that leaves the turn running is refused") {
  const auto applied = begin(*store, kRoom, "t1");

  CHECK(is_conflict(settle(*store, applied->turn, TurnState::accepted, "not the end")));
  CHECK(state_of("t1") == TurnState::accepted);
}

TREATY_STORE_TEST(JournalFixture, "an update applies only to states that lead there") {
  const TurnState states[] = {TurnState::accepted, TurnState::awaiting_tools, TurnState::completed,
                              TurnState::failed,   TurnState::cancelled,      TurnState::expired};
  // Rows: from; columns: to.
  const bool allowed[6][6] = {
      {false, true, true, true, false, true},      // accepted
      {true, false, false, true, true, true},      // awaiting_tools
      {false, false, false, false, false, false},  // completed
      {false, false, false, false, false, false},  // failed, not retryable
      {false, false, false, false, false, false},  // cancelled
      {false, false, false, false, false, false},  // expired
  };
  for (std::size_t from = 0; from < 6; ++from) {
    for (std::size_t to = 0; to < 6; ++to) {
      CAPTURE(name_of(states[from]));
      CAPTURE(name_of(states[to]));
      const Room room{.tenant = "local",
                      .session_id = "s" + std::to_string(from) + std::to_string(to)};
      const auto applied = begin(*store, room, "t1");
      REQUIRE(applied);
      if (from != 0) REQUIRE(settle(*store, applied->turn, states[from], ""));

      const auto updated = update(applied->turn, states[to]);

      CHECK(updated.has_value() == allowed[from][to]);
      if (!updated) CHECK(updated.error().code == ErrorCode::conflict);
      const auto found = wait_for(store->find_turn(room, "t1"));
      CHECK((*found)->turn.state == states[allowed[from][to] ? to : from]);
    }
  }
}

TREATY_STORE_TEST(JournalFixture, "a turn that failed with a retryable error runs again") {
  const auto applied = begin(*store, kRoom, "t1");
  REQUIRE(wait_for(store->settle({.turn = applied->turn,
                                  .update = {.state = TurnState::failed, .retryable = true},
                                  .answer = testing::answer_of("no")})));
  CHECK(!look(*store, {.room = kRoom}).newest);

  REQUIRE(update(applied->turn, TurnState::accepted));

  CHECK(state_of("t1") == TurnState::accepted);
  CHECK(look(*store, {.room = kRoom}).newest->turn_id == "t1");
  REQUIRE(settle(*store, applied->turn, TurnState::completed, "yes"));
  CHECK(wait_for(store->find_turn(kRoom, "t1")).value()->rounds[0].answer->body == "yes");
}

TREATY_STORE_TEST(JournalFixture, "a failed turn does not run again once a newer turn lives") {
  const auto first = begin(*store, kRoom, "t1");
  REQUIRE(wait_for(store->settle({.turn = first->turn,
                                  .update = {.state = TurnState::failed, .retryable = true},
                                  .answer = testing::answer_of("no")})));
  REQUIRE(complete(*store, kRoom, "t2") != 0);

  CHECK(is_conflict(update(first->turn, TurnState::accepted)));
}

TREATY_STORE_TEST(JournalFixture,
                  "the newest turn is the last one that is not dead, whatever died since") {
  REQUIRE(complete(*store, kRoom, "t1") != 0);
  const auto second = begin(*store, kRoom, "t2");
  REQUIRE(wait_for(store->settle({.turn = second->turn,
                                  .update = {.state = TurnState::failed, .retryable = true},
                                  .answer = testing::answer_of("no")})));
  const auto third = begin(*store, kRoom, "t3");
  REQUIRE(wait_for(store->settle({.turn = third->turn,
                                  .update = {.state = TurnState::failed, .retryable = true},
                                  .answer = testing::answer_of("no")})));
  CHECK(look(*store, {.room = kRoom}).newest->turn_id == "t1");

  REQUIRE(update(second->turn, TurnState::accepted));
  REQUIRE(settle(*store, second->turn, TurnState::completed, "yes"));
  CHECK(look(*store, {.room = kRoom}).newest->turn_id == "t2");

  REQUIRE(update(third->turn, TurnState::accepted));
  REQUIRE(settle(*store, third->turn, TurnState::cancelled, "never mind"));
  CHECK(look(*store, {.room = kRoom}).newest->turn_id == "t2");
}

TREATY_STORE_TEST(JournalFixture, "a continuation is the next round of its turn") {
  const auto applied = begin(*store, kRoom, "t1");
  REQUIRE(wait_for(store->settle({.turn = applied->turn,
                                  .update = {.state = TurnState::awaiting_tools,
                                             .pending = "[1,2]",
                                             .tool_deadline = 5'000,
                                             .events = 2},
                                  .answer = testing::answer_of("call these")})));
  CHECK(look(*store, {.room = kRoom, .turn_id = "t1"}).named->pending == "[1,2]");

  const Change second{.turn = applied->turn,
                      .update = TurnUpdate{.state = TurnState::accepted, .round = 1, .events = 2},
                      .request = testing::request_of("results", 1)};
  REQUIRE(change(second));
  CHECK(is_conflict(change(second)));
  REQUIRE(settle(*store, applied->turn, TurnState::completed, "done", 1));

  const auto record = **wait_for(store->find_turn(kRoom, "t1"));
  CHECK(record.turn.round == 1);
  CHECK(record.turn.pending.empty());
  REQUIRE(record.rounds.size() == 2);
  CHECK(record.rounds[0].answer->body == "call these");
  CHECK(record.rounds[1].request.body == testing::request_of("results").body);
  CHECK(record.rounds[1].answer->body == "done");
  const View again = look(*store, {.room = kRoom, .turn_id = "t1", .key = "results"});
  CHECK(again.same->request.round == 1);
  CHECK(again.same->answer->body == "done");
}

TREATY_STORE_TEST(JournalFixture, "rounds come one after the other, and there is a last one") {
  const auto applied = begin(*store, kRoom, "t1");

  CHECK(is_conflict(change({.turn = applied->turn, .request = testing::request_of("k", 2)})));
  CHECK(is_conflict(change({.turn = applied->turn, .request = testing::request_of("k", 0)})));
  CHECK(is_conflict(change({.turn = applied->turn, .answer = testing::answer_of("k", 256)})));
  CHECK(is_conflict(change({.turn = applied->turn, .answer = testing::answer_of("k", -1)})));
}

TREATY_STORE_TEST(JournalFixture, "a change of a turn or a session that is not there is refused") {
  CHECK(is_unknown(update(7, TurnState::completed)));
  CHECK(is_unknown(change({.agent = "default"})));
  CHECK(is_unknown(change({.begin = NewTurn{.turn_id = "t1"}})));
}

TREATY_STORE_TEST(JournalFixture, "a mark of streaming stays until the round ends") {
  const auto applied = begin(*store, kRoom, "t1");
  REQUIRE(wait_for(store->mark_streamed(applied->turn, "")));
  CHECK(look(*store, {.room = kRoom, .turn_id = "t1"}).named->has_streamed);

  REQUIRE(settle(*store, applied->turn, TurnState::completed, "done"));
  REQUIRE(wait_for(store->mark_streamed(applied->turn, "{}\n")));

  CHECK(!look(*store, {.room = kRoom, .turn_id = "t1"}).named->has_streamed);
}

TREATY_STORE_TEST(JournalFixture,
                  "diagnostics that come with a mark of streaming are the round's") {
  const auto applied = begin(*store, kRoom, "t1");
  const auto events = [&] {
    return wait_for(store->find_turn(kRoom, "t1"))->value().rounds[0].request.events;
  };
  const std::string before = events();
  REQUIRE(wait_for(store->mark_streamed(applied->turn, "{}\n")));
  CHECK(events() == before + "{}\n");

  REQUIRE(settle(*store, applied->turn, TurnState::completed, "done"));
  REQUIRE(wait_for(store->mark_streamed(applied->turn, "{}\n")));
  CHECK(events() == before + "{}\n");
}

TREATY_STORE_TEST(JournalFixture, "times are those of the transaction that wrote them") {
  const auto applied = begin(*store, kRoom, "t1");
  time = 2'000;
  REQUIRE(wait_for(store->settle({.turn = applied->turn,
                                  .update = {.state = TurnState::completed},
                                  .answer = {.body = "{}"}})));

  const auto record = **wait_for(store->find_turn(kRoom, "t1"));
  CHECK(record.turn.created_at == 1'000);
  CHECK(record.turn.updated_at == 2'000);
  CHECK(record.rounds[0].answer->created_at == 2'000);
  const auto session = wait_for(store->find_session(kRoom));
  CHECK((*session)->created_at == 1'000);
  CHECK((*session)->updated_at == 2'000);
}

}  // namespace treaty::store
