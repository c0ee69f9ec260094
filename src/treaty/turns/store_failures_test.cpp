// One call of the store fails, whichever it is: nothing that a client was told is lost, nothing
// runs or is billed twice.
#include <doctest/doctest.h>

#include <chrono>

#include "treaty/testing/engine_fixture.h"
#include "treaty/turns/engine.h"

namespace treaty::turns {
namespace {

using contracts::AgentExecuteRequest;
using testing::EngineFixture;
using testing::says;

constexpr int kMostStoreCalls = 40;
constexpr int kMostTries = 3;

AgentExecuteRequest first_turn(bool streaming) {
  AgentExecuteRequest request = testing::user_turn("t1", "Read a.txt.");
  std::get<contracts::UserTurn>(request.scenario).streaming = streaming;
  return request;
}

AgentExecuteRequest tool_results() {
  return {.session_id = "s1",
          .turn_id = "t1",
          .scenario = contracts::ToolContinuation{
              {{.tool_call_id = "c1", .outcome = contracts::ResultJson{"\"text\""}}}}};
}

contracts::AgentResult calls_tool() {
  return {.finish_reason = "tool_use",
          .tool_calls =
              std::vector<contracts::AgentToolCall>{{"c1", "read_file", R"({"path":"a.txt"})"}}};
}

// As a client does it: the same request again while the store is unavailable.
Outcome execute_until_told(EngineFixture& fixture, const AgentExecuteRequest& request) {
  Outcome outcome = fixture.execute(request);
  for (int i = 1; i < kMostTries && outcome.error_code == "store_unavailable"; ++i) {
    outcome = fixture.execute(request);
  }
  return outcome;
}

// Runs the requests, each until it is told, and checks that they make one turn. False when the
// store has fewer calls than that.
bool survives_failure_of_call(int number, EngineFixture& fixture,
                              const std::vector<AgentExecuteRequest>& requests) {
  CAPTURE(number);
  fixture.failing_store().failing_call = number;
  std::vector<Outcome> told;
  told.reserve(requests.size());
  for (const auto& request : requests) told.push_back(execute_until_told(fixture, request));
  fixture.run_until_idle();
  const bool has_failed = fixture.failing_store().calls > number;
  fixture.failing_store().failing_call.reset();

  const auto turns = fixture.run(fixture.store().list_turns(1, 0, 10));
  REQUIRE(turns);
  REQUIRE(turns->size() == 1);
  CHECK(turns->front().state == store::TurnState::completed);
  const auto record = fixture.run(fixture.store().find_turn({"local", "s1"}, "t1"));
  REQUIRE((record && *record));
  REQUIRE((*record)->rounds.size() == requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CHECK(told[i].error_code.empty());
    CHECK((*record)->rounds[i].answer->body == told[i].body);
    CHECK(fixture.execute(requests[i]).body == told[i].body);
  }
  CHECK(fixture.calls.size() == requests.size());
  return has_failed;
}

}  // namespace

TEST_CASE("A user turn survives the failure of any one call of the store") {
  int number = 0;
  for (bool has_failed = true; has_failed && number < kMostStoreCalls; ++number) {
    EngineFixture fixture;
    fixture.answers = {says("one"), says("a second time")};
    has_failed = survives_failure_of_call(number, fixture, {first_turn(false)});
  }
  CHECK(number > 2);
  CHECK(number < kMostStoreCalls);
}

TEST_CASE("A streamed turn survives the failure of any one call of the store") {
  int number = 0;
  for (bool has_failed = true; has_failed && number < kMostStoreCalls; ++number) {
    EngineFixture fixture;
    fixture.answers = {says("one two"), says("a second time")};
    has_failed = survives_failure_of_call(number, fixture, {first_turn(true)});
  }
  CHECK(number > 3);
  CHECK(number < kMostStoreCalls);
}

TEST_CASE("A tool round survives the failure of any one call of the store") {
  int number = 0;
  for (bool has_failed = true; has_failed && number < kMostStoreCalls; ++number) {
    EngineFixture fixture;
    fixture.answers = {calls_tool(), says("one"), says("a second time")};
    has_failed = survives_failure_of_call(number, fixture, {first_turn(false), tool_results()});
  }
  CHECK(number > 5);
  CHECK(number < kMostStoreCalls);
}

TEST_CASE("A store that cannot be written to is asked once when turns are overdue, however many") {
  constexpr int kTurns = 120;
  EngineFixture fixture;
  for (int i = 0; i < kTurns; ++i) {
    AgentExecuteRequest request = first_turn(false);
    request.session_id = "s" + std::to_string(i);
    fixture.answers = {calls_tool()};
    fixture.execute(request);
  }
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();

  fixture.failing_store().is_full = true;
  fixture.run(fixture.engine().expire_overdue(fixture.worker()));
  CHECK(fixture.failing_store().refused == 1);

  fixture.failing_store().is_full = false;
  fixture.run(fixture.engine().expire_overdue(fixture.worker()));
  CHECK(fixture.run(fixture.store().overdue(fixture.now, kTurns))->empty());
}

TEST_CASE("A turn with a budget is billed once, whichever call of the store fails") {
  int number = 0;
  for (bool has_failed = true; has_failed && number < kMostStoreCalls; ++number) {
    EngineFixture fixture;
    fixture.agent().budget.tokens = 1'000'000;
    auto answer = says("one");
    answer.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 5};
    fixture.answers = {answer, answer};
    has_failed = survives_failure_of_call(number, fixture, {first_turn(false)});

    const auto today =
        std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(fixture.now));
    const auto bills = *fixture.run(fixture.store().spending(today.count()));
    REQUIRE(bills.size() == 1);
    CHECK(bills[0].calls == 1);
    CHECK(bills[0].spent.tokens == 15);
    CHECK(bills[0].reserved == store::Amount{});
  }
  CHECK(number > 4);
  CHECK(number < kMostStoreCalls);
}

}  // namespace treaty::turns
