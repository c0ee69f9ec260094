// Turns of a process that has ended, and what becomes of them at another one.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <optional>

#include "treaty/testing/engine_fixture.h"
#include "treaty/testing/temporary_directory.h"
#include "treaty/turns/engine.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using contracts::AgentExecuteRequest;
using store::TurnState;
using testing::EngineFixture;
using testing::says;
using testing::user_turn;

AgentExecuteRequest streamed(AgentExecuteRequest request) {
  std::get<contracts::UserTurn>(request.scenario).streaming = true;
  return request;
}

// A process whose turn t1 is in the middle of its answer.
std::optional<EngineFixture>& answering(std::optional<EngineFixture>& process,
                                        const std::string& directory,
                                        const AgentExecuteRequest& request) {
  process.emplace(directory);
  process->hold_answers();
  const auto log = process->begin(request);
  const bool streams = std::get<contracts::UserTurn>(request.scenario).streaming;
  while (process->calls.empty() || (streams && log->after(1).empty())) {
    process->run(log->wait(1, std::chrono::milliseconds(1)));
  }
  return process;
}

struct TwoProcesses {
  testing::TemporaryDirectory directory{};
  std::optional<EngineFixture> other{};
  EngineFixture here{directory.path()};

  void begin_at_other(const AgentExecuteRequest& request) {
    answering(other, directory.path(), request);
  }
  TurnState state_of(const std::string& turn_id) {
    return (**here.run(here.store().find_turn({"local", "s1"}, turn_id))).turn.state;
  }
};

TEST_CASE_FIXTURE(TwoProcesses,
                  "Who waits for a stream of a process that dies gets its failure, all of them") {
  const auto request = streamed(user_turn("t1"));
  begin_at_other(request);
  here.answers = {says("once more")};
  std::vector<std::future<std::shared_ptr<TurnLog>>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(asio::co_spawn(
        here.worker().executor, here.engine().execute(here.worker(), testing::submission(request)),
        asio::use_future));
  }
  for (int i = 0; i < 3; ++i) here.run(here.store().find_session({"local", "s1"}));

  other.reset();
  here.run_until_idle();

  for (auto& log : waiting) {
    const auto outcome = log.get()->outcome_now();
    REQUIRE(outcome);
    CHECK(outcome->error_code == "server_error");
    CHECK(outcome->body.contains("interrupted"));
  }
  CHECK(state_of("t1") == TurnState::failed);
  CHECK(here.execute(request).body.contains("once more"));
  CHECK(state_of("t1") == TurnState::completed);
  CHECK(here.engine().running() == 0);
}

TEST_CASE_FIXTURE(TwoProcesses, "Who repeats a stream of a process that is gone gets its failure") {
  const auto request = streamed(user_turn("t1"));
  begin_at_other(request);
  other.reset();
  here.answers = {says("once more")};

  CHECK(here.execute(request).body.contains("interrupted"));
  CHECK(here.calls.empty());
  CHECK(here.execute(request).body.contains("once more"));
}

TEST_CASE_FIXTURE(TwoProcesses, "Who repeats a turn of a process that is gone gets its answer") {
  begin_at_other(user_turn("t1"));
  other.reset();
  here.answers = {says("taken over")};

  CHECK(here.execute(user_turn("t1")).body.contains("taken over"));
  CHECK(here.calls.size() == 1);
}

TEST_CASE_FIXTURE(TwoProcesses, "A stream of a process that is gone makes way for the next turn") {
  begin_at_other(streamed(user_turn("t1")));
  other.reset();
  here.answers = {says("the next one")};

  CHECK(here.execute(user_turn("t2", "Go on.")).body.contains("the next one"));
  CHECK(state_of("t1") == TurnState::failed);
}

TEST_CASE_FIXTURE(TwoProcesses, "A turn of a process that is gone runs here when another is sent") {
  begin_at_other(user_turn("t1"));
  other.reset();
  here.answers = {says("taken over")};

  const Outcome refused = here.execute(user_turn("t2", "Go on."));
  here.run_until_idle();

  CHECK(refused.error_code == "turn_in_progress");
  CHECK(state_of("t1") == TurnState::completed);
}

TEST_CASE_FIXTURE(TwoProcesses, "A turn of a process that is gone can be cancelled") {
  begin_at_other(user_turn("t1"));
  other.reset();
  here.hold_answers();

  CHECK(here.run(here.engine().cancel(here.worker(), {"local", "s1"}, "t1")) ==
        TurnState::cancelled);
}

TEST_CASE_FIXTURE(TwoProcesses, "A branch leaves out a stream of a process that is gone") {
  here.answers = {says("one")};
  here.execute(user_turn("t0", "First."));
  begin_at_other(streamed(user_turn("t1")));
  other.reset();

  CHECK(here.run(here.engine().branch(here.worker(), {"local", "s1"}, "t1")));
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "A request that meets a turn of a dead process recovers only that one") {
  begin_at_other(user_turn("t1"));
  AgentExecuteRequest elsewhere = user_turn("t1");
  elsewhere.session_id = "s2";
  other->begin(elsewhere);
  other.reset();
  here.answers = {says("once more"), says("never asked for")};

  CHECK(here.execute(user_turn("t1")).body.contains("once more"));

  CHECK(here.calls.size() == 1);
  CHECK(here.run(here.engine().recover(here.worker())) == 1U);
}

TEST_CASE_FIXTURE(TwoProcesses, "All turns of a dead process run here, however many there are") {
  constexpr std::size_t kTurns = 2 * store::TurnJournal::kMostClaimed + 1;
  begin_at_other(user_turn("t1"));
  for (std::size_t i = 1; i < kTurns; ++i) {
    AgentExecuteRequest elsewhere = user_turn("t1");
    elsewhere.session_id = std::to_string(i);
    other->begin(elsewhere);
  }
  other.reset();
  here.answers.assign(kTurns, says("taken over"));

  CHECK(here.run(here.engine().recover(here.worker())) == kTurns);
  here.run_until_idle();

  CHECK(here.calls.size() == kTurns);
  CHECK(state_of("t1") == TurnState::completed);
}

TEST_CASE_FIXTURE(TwoProcesses, "Who follows a turn of another process gets its end from there") {
  begin_at_other(user_turn("t1"));
  const auto follow = [&] {
    return *here.run(here.engine().follow(here.worker(), {"local", "s1"}, "t1", std::nullopt));
  };

  const auto log = follow();
  CHECK(follow() == log);
  CHECK(log->outcome_now() == nullptr);
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));

  CHECK(here.run(log->outcome())->error_code == "turn_cancelled");
  CHECK(log->opening()->turn_id == "t1");
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "A turn of another process is not looked at when nobody follows it") {
  begin_at_other(user_turn("t1"));
  {
    const auto log =
        here.run(here.engine().follow(here.worker(), {"local", "s1"}, "t1", std::nullopt));
    REQUIRE((log && *log));
  }

  here.run_until_idle();  // Ends, though the turn still runs.

  CHECK(state_of("t1") == TurnState::accepted);
}

TEST_CASE_FIXTURE(TwoProcesses, "Who repeats a turn of another process can follow it at once") {
  begin_at_other(user_turn("t1"));

  const auto log = here.begin(user_turn("t1"));
  CHECK(here.begin(user_turn("t1")) == log);
  CHECK(log->outcome_now() == nullptr);
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));

  CHECK(here.run(log->outcome())->error_code == "turn_cancelled");
  CHECK(log->opening()->turn_id == "t1");
  CHECK(here.calls.empty());
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "A repeated turn of another process is forgotten when no client waits for it") {
  begin_at_other(user_turn("t1"));
  here.begin(user_turn("t1"));

  here.run_until_idle();  // Ends, though the turn still runs.

  CHECK(state_of("t1") == TurnState::accepted);
  const auto log = here.begin(user_turn("t1"));
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));
  CHECK(here.run(log->outcome())->error_code == "turn_cancelled");
}

TEST_CASE_FIXTURE(
    TwoProcesses,
    "Who repeats a turn whose session another process deletes does not open it again") {
  begin_at_other(user_turn("t1"));
  const auto log = here.begin(user_turn("t1"));
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));
  REQUIRE(other->run(other->store().delete_session({"local", "s1"})) == true);

  CHECK(here.run(log->outcome())->error_code == "session_not_found");
  CHECK(here.calls.empty());
  CHECK(!here.run(here.store().find_session({"local", "s1"})).value());
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "Who waits for a turn of another process is refused when the store is gone") {
  begin_at_other(user_turn("t1"));
  const auto log = here.begin(user_turn("t1"));
  here.failing_store().is_unreadable = true;

  CHECK(here.run(log->outcome())->error_code == "store_unavailable");
}

TEST_CASE_FIXTURE(TwoProcesses, "Who waits for a turn of another process asks for no decision") {
  begin_at_other(user_turn("t1"));
  const auto log = here.begin(user_turn("t1"));
  std::atomic<int> decisions = 0;
  here.repeating_store().first_view = [&](const store::View& view) {
    ++decisions;
    return view;
  };
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));

  CHECK(here.run(log->outcome())->error_code == "turn_cancelled");
  CHECK(decisions == 0);
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "Who follows a turn whose session another process deletes is told") {
  begin_at_other(user_turn("t1"));
  const auto log =
      *here.run(here.engine().follow(here.worker(), {"local", "s1"}, "t1", std::nullopt));
  REQUIRE(other->run(other->engine().cancel(other->worker(), {"local", "s1"}, "t1")));
  REQUIRE(other->run(other->store().delete_session({"local", "s1"})) == true);

  CHECK(here.run(log->outcome())->error_code == "session_not_found");
}

TEST_CASE("A clock that is set back while a turn expires does not keep its session") {
  EngineFixture fixture;
  fixture.answers = {
      {.finish_reason = "tool_use",
       .tool_calls = std::vector<contracts::AgentToolCall>{{"c1", "read_file", "{}"}}},
      says("two")};
  fixture.execute(user_turn("t1", "Read a.txt."));
  const store::Milliseconds before = fixture.now;
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();
  fixture.repeating_store().first_view = [&](const store::View& view) {
    fixture.now = before;  // From the first decision on.
    return view;
  };

  CHECK(fixture.execute(user_turn("t2", "Go on.")).body.contains("two"));
}

}  // namespace
}  // namespace treaty::turns
