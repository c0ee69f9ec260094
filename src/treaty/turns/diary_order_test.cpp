// The diary of a session as a follower reads it: nothing is skipped, nothing comes twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "treaty/testing/engine_fixture.h"
#include "treaty/testing/temporary_directory.h"
#include "treaty/turns/engine.h"

namespace treaty::turns {
namespace {

using store::TurnState;
using testing::EngineFixture;
using testing::fails;
using testing::says;
using testing::user_turn;

contracts::AgentResult calls_reader(int number) {
  return {.finish_reason = "tool_use",
          .tool_calls = std::vector<contracts::AgentToolCall>{
              {"c" + std::to_string(number), "read_file",
               R"({"path":")" + std::to_string(number) + R"("})"}}};
}

contracts::AgentExecuteRequest result_of_call(int number) {
  return {.session_id = "s1",
          .turn_id = "t1",
          .scenario = contracts::ToolContinuation{{{.tool_call_id = "c" + std::to_string(number),
                                                    .outcome = contracts::ResultJson{"1"}}}}};
}

// Everything after `last_id`, page by page.
std::vector<DiaryEvent> read_diary(EngineFixture& fixture, std::int64_t last_id = 0) {
  std::vector<DiaryEvent> all;
  while (true) {
    auto some = *fixture.run(fixture.engine().events(fixture.worker(), {"local", "s1"}, last_id,
                                                     std::chrono::milliseconds(0)));
    if (some.empty()) return all;
    last_id = some.back().id;
    std::ranges::move(some, std::back_inserter(all));
  }
}

std::vector<std::string> kinds_of(const std::vector<DiaryEvent>& events) {
  std::vector<std::string> kinds;
  for (const DiaryEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

bool ids_count_up(const std::vector<DiaryEvent>& events) {
  return std::ranges::adjacent_find(events, std::ranges::greater_equal(), &DiaryEvent::id) ==
         events.end();
}

TEST_CASE("The diary continues after a turn of many rounds") {
  constexpr int kManyRounds = 120;
  EngineFixture fixture;
  fixture.agent().max_rounds = 2 * kManyRounds;
  fixture.answers = {calls_reader(0)};
  fixture.execute(user_turn("t1", "Read all of it."));
  for (int i = 0; i < kManyRounds; ++i) {
    fixture.answers = {i + 1 == kManyRounds ? says("read") : calls_reader(i + 1)};
    REQUIRE(fixture.execute(result_of_call(i)).error_code.empty());
  }
  fixture.answers = {says("next")};
  fixture.execute(user_turn("t2", "Go on."));

  const auto all = read_diary(fixture);

  CHECK(std::ranges::count(all, "tools.submitted", &DiaryEvent::kind) == kManyRounds);
  CHECK(std::ranges::count(all, "turn.completed", &DiaryEvent::kind) == 2);
  CHECK(all.back().data.contains(R"("TurnId":"t2")"));
  CHECK(ids_count_up(all));
}

// t1 and then t2 have failed for reasons that pass.
struct TwoFailures {
  EngineFixture fixture{};
  std::int64_t last_seen = 0;

  TwoFailures() {
    fixture.answers = {fails("server_error", true), fails("server_error", true)};
    fixture.execute(user_turn("t1", "One."));
    fixture.execute(user_turn("t2", "Two."));
    last_seen = read_diary(fixture).back().id;
  }
  store::Session session() { return **fixture.run(fixture.store().find_session({"local", "s1"})); }
};

TEST_CASE_FIXTURE(TwoFailures, "A follower sees an older turn that runs again") {
  const auto before = read_diary(fixture);
  fixture.answers = {says("at last")};
  REQUIRE(fixture.execute(user_turn("t1", "One.")).error_code.empty());

  const auto after = read_diary(fixture, last_seen);
  const auto all = read_diary(fixture);

  CHECK(kinds_of(after) == std::vector<std::string>{"turn.repeated", "attempt.started",
                                                    "attempt.completed", "turn.completed"});
  CHECK(std::ranges::all_of(
      after, [](const auto& event) { return event.data.contains(R"("TurnId":"t1")"); }));
  CHECK(all.size() == before.size() + after.size());
  CHECK(ids_count_up(all));
}

TEST_CASE_FIXTURE(TwoFailures, "A follower sees an older turn while it runs again") {
  fixture.hold_answers();
  const auto log = fixture.begin(user_turn("t1", "One."));
  while (fixture.calls.size() < 3) {
    fixture.run(log->wait(log->first_event(), std::chrono::milliseconds(1)));
  }

  CHECK(kinds_of(read_diary(fixture, last_seen)) ==
        std::vector<std::string>{"turn.repeated", "attempt.started"});
}

TEST_CASE_FIXTURE(TwoFailures, "An older turn that runs again is the last of its session") {
  fixture.answers = {calls_reader(0), says("read"), says("next")};
  fixture.execute(user_turn("t1", "One."));

  CHECK(session().last_turn == "t1");
  CHECK(session().turns == 2);
  const auto turns = *fixture.run(fixture.store().list_turns(session().id, 0, 10));
  REQUIRE(turns.size() == 2);
  CHECK(turns.front().turn_id == "t2");
  CHECK(turns.back().state == TurnState::awaiting_tools);

  REQUIRE(fixture.execute(result_of_call(0)).error_code.empty());
  REQUIRE(fixture.execute(user_turn("t3", "Three.")).error_code.empty());
  CHECK(session().last_turn == "t3");
  CHECK(session().turns == 3);
  CHECK(testing::texts_of(fixture.calls.back()).contains("read|Three."));
  CHECK(ids_count_up(read_diary(fixture)));
}

TEST_CASE_FIXTURE(TwoFailures,
                  "Turns that fail and run again in turns each have ids of their own") {
  std::size_t seen = read_diary(fixture).size();
  for (int i = 0; i < 3; ++i) {
    fixture.answers = {fails("server_error", true), fails("server_error", true)};
    fixture.execute(user_turn("t1", "One."));
    fixture.execute(user_turn("t2", "Two."));
    const auto after = read_diary(fixture, last_seen);
    REQUIRE(after.size() > 2);
    CHECK(after.front().kind == "turn.repeated");
    CHECK(std::ranges::count(after, "turn.repeated", &DiaryEvent::kind) == 2);
    CHECK(std::ranges::count(after, "turn.failed", &DiaryEvent::kind) == 2);
    seen += after.size();
    last_seen = after.back().id;
  }
  CHECK(ids_count_up(read_diary(fixture)));
  CHECK(read_diary(fixture).size() == seen);
}

TEST_CASE("An older turn that runs again and is interrupted continues under its new number") {
  testing::TemporaryDirectory directory;
  std::int64_t last_seen = 0;
  {
    EngineFixture fixture(directory.path());
    fixture.answers = {fails("server_error", true), fails("server_error", true)};
    fixture.execute(user_turn("t1", "One."));
    fixture.execute(user_turn("t2", "Two."));
    fixture.hold_answers();
    fixture.begin(user_turn("t1", "One."));
    last_seen = read_diary(fixture).back().id;
  }
  EngineFixture fixture(directory.path());
  fixture.answers = {says("at last")};
  REQUIRE(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);
  fixture.run_until_idle();

  CHECK(kinds_of(read_diary(fixture, last_seen)) ==
        std::vector<std::string>{"turn.recovered", "attempt.started", "attempt.completed",
                                 "turn.completed"});
  CHECK(ids_count_up(read_diary(fixture)));
}

}  // namespace
}  // namespace treaty::turns
