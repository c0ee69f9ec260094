#include "treaty/turns/engine.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "treaty/contracts/invoke_result.h"
#include "treaty/testing/engine_fixture.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::turns {
namespace {

using contracts::AgentResult;
using store::TurnState;
using testing::EngineFixture;
using testing::says;
using testing::user_turn;

AgentResult calls_tool(std::string id, std::string arguments = R"({"path":"a.txt"})") {
  return {.finish_reason = "tool_use",
          .tool_calls = std::vector<contracts::AgentToolCall>{
              {std::move(id), "read_file", std::move(arguments)}}};
}

contracts::AgentExecuteRequest results(std::string turn_id, const std::string& call_id) {
  return {.session_id = "s1",
          .turn_id = std::move(turn_id),
          .scenario = contracts::ToolContinuation{
              {{.tool_call_id = call_id, .outcome = contracts::ResultJson{"\"text\""}}}}};
}

std::vector<DiaryEvent> diary_of(EngineFixture& fixture, std::int64_t last_id = 0) {
  return *fixture.run(fixture.engine().events(fixture.worker(), {"local", "s1"}, last_id,
                                              std::chrono::milliseconds(0)));
}

TEST_CASE("The same request again has the same bytes and calls no backend") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two")};

  const Outcome first = fixture.execute(user_turn("t1", "Hello."));
  const Outcome again = fixture.execute(user_turn("t1", "Hello."));

  CHECK(first.error_code.empty());
  CHECK(first.body.contains("one"));
  CHECK(again.body == first.body);
  CHECK(fixture.calls.size() == 1);
}

// A family of routes whose answers are plain lines.
class LineRenderer final : public Renderer {
 public:
  std::string_view format() const override { return "line"; }
  std::string_view content_type() const override { return "text/plain"; }
  Rendered render(const SettledTurn& turn, contracts::Dialect /*dialect*/) const override {
    const auto* final = std::get_if<contracts::FinalResponse>(&turn.answer);
    return {.body = turn.turn_id + ": " + (final ? final->primary_output_text : "no final")};
  }
  std::string render(const Refusal& refusal, contracts::Dialect /*dialect*/,
                     std::string /*answer_id*/) const override {
    return "refused: " + refusal.message;
  }
  std::string respell(const std::string& body, contracts::Dialect /*dialect*/) const override {
    return body;
  }
  int status_of(std::string_view /*error_code*/) const override { return 200; }
};

TEST_CASE("A settled round is journalled as a value beside its bytes and their format") {
  EngineFixture fixture;
  fixture.answers = {{.content = "one",
                      .usage = contracts::UsageInfo{.input_tokens = 3, .output_tokens = 2},
                      .finish_reason = "stop"}};

  const Outcome outcome = fixture.execute(user_turn("t1", "Hello."));

  const auto record = fixture.run(fixture.store().find_turn({"local", "s1"}, "t1"));
  REQUIRE((record && *record));
  const auto& answer = *(*record)->rounds.at(0).answer;
  CHECK(answer.body == outcome.body);
  CHECK(answer.format == "invoke-result");
  CHECK((*record)->rounds.at(0).request.format == "invoke-result");
  const auto turn = decode_settled_turn(answer.result, answer.transcript);
  REQUIRE(turn);
  CHECK(turn->result.content == "one");
  CHECK(turn->result.usage->input_tokens == 3);
  CHECK(turn->backend == "told");
  CHECK(turn->model == "m");
  CHECK(std::get<contracts::FinalResponse>(turn->answer).primary_output_text == "one");
}

TEST_CASE("A round that failed keeps the error as the backend said it") {
  EngineFixture fixture;
  fixture.answers = {testing::fails("content_filter", false)};

  const Outcome outcome = fixture.execute(user_turn("t1", "Hello."));

  const auto* turn = std::get_if<SettledTurn>(&outcome.source);
  REQUIRE(turn != nullptr);
  CHECK(turn->result.error->message == "no");
  CHECK(turn->result.error->code == "content_filter");
  CHECK(std::get<AnswerError>(turn->answer).code == "content_filter");
}

TEST_CASE("The provider's headers are kept when a round failed, and only then") {
  const json::ObjectText data = {{"provider", "p"},
                                 {"raw_headers", json::ObjectText{{"via", "z"}}}};
  contracts::AgentResult good = says("one");
  contracts::AgentResult bad = testing::fails("content_filter", false);
  good.provider_data = data;
  bad.provider_data = data;
  EngineFixture fixture;
  fixture.answers = {good, bad};

  const Outcome first = fixture.execute(user_turn("t1", "Hello."));
  const Outcome second = fixture.execute(user_turn("t2", "And now?"));

  CHECK(std::get<SettledTurn>(first.source).result.provider_data ==
        json::ObjectText{{"provider", "p"}});
  CHECK(std::get<SettledTurn>(second.source).result.provider_data == data);
}

TEST_CASE("Whoever comes with another format gets the same turn in that format") {
  EngineFixture fixture;
  fixture.answers = {says("one")};
  const LineRenderer lines;
  const Outcome first = fixture.execute(user_turn("t1", "Hello."));

  auto submission = testing::submission(user_turn("t1", "Hello."));
  submission.renderer = &lines;
  const auto log = fixture.run(fixture.engine().execute(fixture.worker(), std::move(submission)));

  const Outcome again = *fixture.run(log->outcome());
  CHECK(again.body == first.body);
  CHECK(again.body_for(lines, contracts::Dialect::pascal) == "t1: one");
  CHECK(fixture.calls.size() == 1);
}

TEST_CASE("A refusal is rendered for the family of routes that is refused") {
  EngineFixture fixture;
  const LineRenderer lines;
  auto submission = testing::submission(user_turn("t1", "Hello."));
  std::get<contracts::UserTurn>(submission.request.scenario).agent_context_id = "nobody";
  submission.renderer = &lines;

  const auto log = fixture.run(fixture.engine().execute(fixture.worker(), std::move(submission)));

  CHECK(fixture.run(log->outcome())->body.starts_with("refused: "));
}

// Cannot write finals, as a bug or a lack of memory would have it.
class BrokenRenderer final : public Renderer {
 public:
  std::string_view format() const override { return lines_.format(); }
  std::string_view content_type() const override { return lines_.content_type(); }
  Rendered render(const SettledTurn& turn, contracts::Dialect dialect) const override {
    if (const auto* error = std::get_if<AnswerError>(&turn.answer)) {
      return {.body = lines_.render(turn, dialect).body, .error_code = error->code};
    }
    return {.body = {std::string().at(1)}};  // Throws.
  }
  std::string render(const Refusal& refusal, contracts::Dialect dialect,
                     std::string answer_id) const override {
    return lines_.render(refusal, dialect, std::move(answer_id));
  }
  std::string respell(const std::string& body, contracts::Dialect dialect) const override {
    return lines_.respell(body, dialect);
  }
  int status_of(std::string_view error_code) const override { return lines_.status_of(error_code); }

 private:
  LineRenderer lines_;
};

TEST_CASE("A round whose answer cannot be written fails as internal, and its session is free") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two")};
  const BrokenRenderer broken;
  auto submission = testing::submission(user_turn("t1", "Hello."));
  submission.renderer = &broken;

  const auto log = fixture.run(fixture.engine().execute(fixture.worker(), std::move(submission)));
  const auto outcome = fixture.run(log->outcome());
  fixture.run_until_idle();

  CHECK(outcome->error_code == "internal");
  CHECK(fixture.engine().running() == 0);
  const auto record = fixture.run(fixture.store().find_turn({"local", "s1"}, "t1"));
  REQUIRE((record && *record));
  CHECK((*record)->turn.state == TurnState::failed);
  CHECK((*record)->turn.retryable);
  CHECK(fixture.execute(user_turn("t2", "And now?")).body.contains("two"));
}

TEST_CASE("Eight of the same at once are one call and eight times the same bytes") {
  EngineFixture fixture;
  fixture.answers = {says("one")};

  const auto outcomes = fixture.execute_together(user_turn("t1", "Hello."), 8);

  for (const auto& outcome : outcomes) CHECK(outcome.body == outcomes.front().body);
  CHECK(fixture.calls.size() == 1);
}

TEST_CASE("A tool round asks the client, keeps the turn's id and ends with a final") {
  EngineFixture fixture;
  fixture.answers = {calls_tool("c1"), says("The file says text.")};

  const Outcome asked = fixture.execute(user_turn("t1", "Read a.txt."));
  CHECK(asked.body.contains("client_tool_continuation"));
  const Outcome wrong = fixture.execute(results("t1", "c2"));
  CHECK(wrong.error_code == "tool_results_mismatch");
  const Outcome done = fixture.execute(results("t1", "c1"));

  CHECK(done.body.contains("The file says text."));
  REQUIRE(fixture.calls.size() == 2);
  const auto& messages = fixture.calls[1].messages;
  REQUIRE(messages.size() == 3);
  CHECK(std::get<backends::ToolMessage>(messages[2]).content.contains("text"));
  CHECK(fixture.execute(user_turn("t1", "Read a.txt.")).body == asked.body);
  CHECK(fixture.execute(results("t1", "c1")).body == done.body);
}

TEST_CASE("With on_mismatch: fail_turn the refusal is journalled and told again") {
  EngineFixture fixture;
  fixture.agent().on_mismatch = OnMismatch::fail_turn;
  fixture.answers = {calls_tool("c1"), says("two")};
  fixture.execute(user_turn("t1", "Read a.txt."));

  const Outcome refused = fixture.execute(results("t1", "c2"));

  CHECK(refused.error_code == "tool_results_mismatch");
  CHECK(fixture.execute(results("t1", "c2")).body == refused.body);
  CHECK(fixture.execute(results("t1", "c1")).error_code == "tool_results_mismatch");
  CHECK(fixture.execute(user_turn("t1", "Go on.")).body.contains("two"));
}

TEST_CASE("The opening TurnId can be branched from: into an empty session of the same agent") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two")};
  const auto opened = fixture.run(fixture.engine().open_session(fixture.worker(), "local", "", ""));
  auto request = user_turn(opened->turn_id, "First.");
  request.session_id = opened->session_id;
  fixture.execute(request);

  const auto branch = fixture.run(
      fixture.engine().branch(fixture.worker(), {"local", opened->session_id}, opened->turn_id));

  REQUIRE(branch);
  request = user_turn(branch->turn_id, "Otherwise.");
  request.session_id = branch->session_id;
  fixture.execute(request);
  CHECK(testing::texts_of(fixture.calls[1]) == "Otherwise.");
}

TEST_CASE("The next turn is told what was said before; dead turns are left out") {
  EngineFixture fixture;
  fixture.answers = {says("one"), testing::fails("invalid_request", false), says("three")};

  fixture.execute(user_turn("t1", "First."));
  CHECK(fixture.execute(user_turn("t2", "Second.")).error_code == "invalid_request");
  fixture.execute(user_turn("t3", "Third."));

  CHECK(testing::texts_of(fixture.calls[2]) == "First.|one|Third.");
}

TEST_CASE("History comes from the journal when it is not in memory") {
  testing::TemporaryDirectory directory;
  {
    EngineFixture fixture(directory.path());
    fixture.answers = {says("one")};
    fixture.execute(user_turn("t1", "First."));
  }
  EngineFixture fixture(directory.path());
  fixture.answers = {says("two")};
  fixture.execute(user_turn("t2", "Second."));

  CHECK(testing::texts_of(fixture.calls[0]) == "First.|one|Second.");
}

TEST_CASE("The oldest whole turns are dropped when the context window is full") {
  EngineFixture fixture;
  fixture.agent().chain.front().context_window = 4'096 + 60;
  fixture.answers = {says(std::string(100, 'a')), says(std::string(100, 'b')), says("three")};
  fixture.execute(user_turn("t1", "First."));
  fixture.execute(user_turn("t2", "Second."));

  fixture.execute(user_turn("t3", "Third."));

  CHECK(testing::texts_of(fixture.calls[2]) ==
        "Second."
        "|" +
            std::string(100, 'b') + "|Third.");
  const auto diary = diary_of(fixture);
  const auto dropped = std::ranges::find(diary, "history.dropped", &DiaryEvent::kind);
  REQUIRE(dropped != diary.end());
  CHECK(dropped->data.contains(R"("TurnsKept":1,"TurnsDropped":1,"OlderDropped":false,)"));
  CHECK(dropped->data.contains(R"("ContextWindow":4156)"));
}

TEST_CASE("A request that failed with a retryable error runs again in the same turn") {
  EngineFixture fixture;
  fixture.answers = {testing::fails("server_error", true), says("now")};

  const Outcome failed = fixture.execute(user_turn("t1", "Hello."));
  const Outcome done = fixture.execute(user_turn("t1", "Hello."));

  CHECK(status_of_code(failed.error_code) == 502);
  CHECK(done.body.contains("now"));
  CHECK(fixture.execute(user_turn("t1", "Hello.")).body == done.body);
}

TEST_CASE("A request that failed for good is answered from the journal") {
  EngineFixture fixture;
  fixture.answers = {testing::fails("content_filter", false), says("never")};

  const Outcome failed = fixture.execute(user_turn("t1", "Hello."));

  CHECK(status_of_code(failed.error_code) == 422);
  CHECK(fixture.execute(user_turn("t1", "Hello.")).body == failed.body);
  CHECK(fixture.calls.size() == 1);
}

TEST_CASE("Tools that do not answer in time expire their turn, and the session goes on") {
  EngineFixture fixture;
  fixture.answers = {calls_tool("c1"), says("two")};
  fixture.execute(user_turn("t1", "Read a.txt."));

  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();
  fixture.run(fixture.engine().expire_overdue(fixture.worker()));

  CHECK(fixture.execute(results("t1", "c1")).error_code == "turn_expired");
  CHECK(fixture.execute(user_turn("t1", "Go on.")).body.contains("two"));
}

TEST_CASE("An overdue turn does not stand in the way even when nobody has swept") {
  EngineFixture fixture;
  fixture.answers = {calls_tool("c1"), says("two")};
  fixture.execute(user_turn("t1", "Read a.txt."));
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();

  CHECK(fixture.execute(user_turn("t2", "Go on.")).body.contains("two"));
}

TEST_CASE("A failed turn runs again beside an overdue one, which expires first") {
  EngineFixture fixture;
  fixture.answers = {testing::fails("server_error", true), calls_tool("c1"), says("at last")};
  fixture.execute(user_turn("t1", "Hello."));
  fixture.execute(user_turn("t2", "Read a.txt."));
  CHECK(fixture.execute(user_turn("t1", "Hello.")).error_code == "turn_in_progress");
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();

  CHECK(fixture.execute(user_turn("t1", "Hello.")).body.contains("at last"));
  CHECK(fixture.execute(results("t2", "c1")).error_code == "turn_expired");
}

TEST_CASE("An overdue turn has expired even for whoever comes to cancel it or branches from it") {
  EngineFixture fixture;
  fixture.answers = {says("one"), calls_tool("c1")};
  fixture.execute(user_turn("t1", "Hello."));
  fixture.execute(user_turn("t2", "Read a.txt."));
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();

  CHECK(fixture.run(fixture.engine().branch(fixture.worker(), {"local", "s1"}, "t2")));
  CHECK(fixture.run(fixture.engine().cancel(fixture.worker(), {"local", "s1"}, "t2")) ==
        TurnState::expired);
}

TEST_CASE("The end of a turn that waited is in the diary, whatever ended it") {
  EngineFixture fixture;
  fixture.answers = {calls_tool("c1"), calls_tool("c1"), calls_tool("c1")};

  fixture.execute(user_turn("t1", "Read a.txt."));
  REQUIRE(fixture.run(fixture.engine().cancel(fixture.worker(), {"local", "s1"}, "t1")));
  const DiaryEvent cancelled = diary_of(fixture).back();
  fixture.execute(user_turn("t2", "Read a.txt."));
  fixture.now += std::chrono::milliseconds(std::chrono::hours(25)).count();
  fixture.run(fixture.engine().expire_overdue(fixture.worker()));
  const DiaryEvent expired = diary_of(fixture).back();
  fixture.agent().on_mismatch = OnMismatch::fail_turn;
  fixture.execute(user_turn("t3", "Read a.txt."));
  fixture.execute(results("t3", "other"));
  const DiaryEvent failed = diary_of(fixture).back();

  CHECK(cancelled.kind == "turn.cancelled");
  CHECK(cancelled.data.contains(R"("TurnId":"t1","ErrorCode":"turn_cancelled")"));
  CHECK(expired.kind == "turn.expired");
  CHECK(expired.data.contains(R"("TurnId":"t2","ErrorCode":"turn_expired")"));
  CHECK(failed.kind == "turn.failed");
  CHECK(failed.data.contains(R"("TurnId":"t3","ErrorCode":"tool_results_mismatch")"));
  CHECK(diary_of(fixture, cancelled.id).front().kind == "turn.accepted");
}

TEST_CASE("A waiting turn can be cancelled, and the session goes on") {
  EngineFixture fixture;
  fixture.answers = {calls_tool("c1"), says("two")};
  fixture.execute(user_turn("t1", "Read a.txt."));

  CHECK(fixture.run(fixture.engine().cancel(fixture.worker(), {"local", "s1"}, "t1")) ==
        TurnState::cancelled);
  CHECK(fixture.execute(results("t1", "c1")).error_code == "turn_cancelled");
  CHECK(fixture.execute(user_turn("t1", "Go on.")).body.contains("two"));
}

TEST_CASE("An answer that cannot be journalled is not told, is kept, and is told when it can be") {
  EngineFixture fixture;
  fixture.answers = {says("precious")};
  fixture.fail_settling(1);

  const Outcome refused = fixture.execute(user_turn("t1", "Hello."));
  const Outcome told = fixture.execute(user_turn("t1", "Hello."));

  CHECK(refused.error_code == "store_unavailable");
  CHECK(status_of_code(refused.error_code) == 503);
  CHECK(told.body.contains("precious"));
  CHECK(fixture.calls.size() == 1);
}

TEST_CASE("A turn that a crash left behind runs again at the next start") {
  testing::TemporaryDirectory directory;
  {
    EngineFixture fixture(directory.path());
    fixture.hold_answers();
    fixture.begin(user_turn("t1", "Hello."));
  }
  EngineFixture fixture(directory.path());
  fixture.answers = {says("after the crash")};
  CHECK(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);

  CHECK(fixture.execute(user_turn("t1", "Hello.")).body.contains("after the crash"));
  CHECK(fixture.calls.size() == 1);
}

TEST_CASE("Ids of the diary count up through every crash and every repetition") {
  testing::TemporaryDirectory directory;
  std::int64_t last = 0;
  const auto read_on = [&](EngineFixture& fixture) {
    for (const DiaryEvent& event : diary_of(fixture, last)) {
      CHECK(event.id > last);
      last = event.id;
    }
    return last;
  };
  const auto crash = [&](bool recovers) {
    EngineFixture fixture(directory.path());
    fixture.hold_answers();
    if (recovers) REQUIRE(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);
    const auto log = fixture.begin(user_turn("t1", "Hello."));
    while (fixture.calls.empty())
      fixture.run(log->wait(log->first_event(), std::chrono::milliseconds(1)));
    read_on(fixture);
  };
  crash(false);
  const std::int64_t first = last;
  crash(true);
  CHECK(last > first);
  {
    EngineFixture fixture(directory.path());
    fixture.answers = {testing::fails("server_error", true)};
    REQUIRE(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);
    fixture.run_until_idle();
    read_on(fixture);
  }
  crash(false);

  EngineFixture fixture(directory.path());
  fixture.answers = {says("at last")};
  REQUIRE(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);
  fixture.run_until_idle();
  read_on(fixture);

  const auto all = diary_of(fixture);
  CHECK(all.back().kind == "turn.completed");
  CHECK(std::ranges::count(all, "turn.recovered", &DiaryEvent::kind) == 3);
  CHECK(std::ranges::is_sorted(all, std::ranges::less(), &DiaryEvent::id));
  CHECK(last == all.back().id);
}

TEST_CASE(
    "A crashed turn whose deltas had begun to leave fails as interrupted, and can be repeated") {
  testing::TemporaryDirectory directory;
  auto request = user_turn("t1", "Hello.");
  std::get<contracts::UserTurn>(request.scenario).streaming = true;
  {
    EngineFixture fixture(directory.path());
    fixture.hold_answers();
    const auto log = fixture.begin(request);
    fixture.run(log->wait(1, std::chrono::seconds(60)));
  }
  EngineFixture fixture(directory.path());
  fixture.answers = {says("once more")};
  REQUIRE(fixture.run(fixture.engine().recover(fixture.worker())) == 1U);
  fixture.run_until_idle();
  const auto stored = fixture.run(fixture.store().find_turn({"local", "s1"}, "t1"));

  CHECK((**stored).turn.state == TurnState::failed);
  CHECK((**stored).rounds.front().answer->body.contains("interrupted"));
  CHECK(fixture.execute(request).body.contains("once more"));
}

TEST_CASE("A stream can be followed from after every event, live rounds and journal alike") {
  EngineFixture fixture;
  auto request = user_turn("t1", "Hello.");
  std::get<contracts::UserTurn>(request.scenario).streaming = true;
  fixture.answers = {says("one two three")};
  const Outcome outcome = fixture.execute(request);
  const auto follow = [&](std::optional<std::int64_t> last) {
    return fixture.run(fixture.engine().follow(fixture.worker(), {"local", "s1"}, "t1", last));
  };

  const auto whole = (*follow({}))->after(0);
  REQUIRE(whole.size() >= 3);
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    CHECK((*follow(whole[i].id))->after(whole[i].id).size() == whole.size() - i - 1);
  }
  CHECK(*follow(whole.back().id) == nullptr);
  CHECK(std::get<std::shared_ptr<const Outcome>>(whole.back().what)->body == outcome.body);
}

TEST_CASE(
    "Those who replay one answer at a time share it; an answer of another attempt is another") {
  EngineFixture fixture;
  fixture.answers = {testing::fails("server_error", true), says("now")};
  const auto follow = [&] {
    return *fixture.run(fixture.engine().follow(fixture.worker(), {"local", "s1"}, "t1", {}));
  };
  fixture.execute(user_turn("t1", "Hello."));
  const auto failed = follow();
  CHECK(follow() == failed);

  fixture.execute(user_turn("t1", "Hello."));

  CHECK(follow() != failed);
  CHECK(follow()->outcome_now()->body.contains("now"));
}

TEST_CASE("The diary of a session counts up and can be read from any entry") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two")};
  fixture.execute(user_turn("t1", "Hello."));
  fixture.execute(user_turn("t2", "Again."));
  const auto read = [&](std::int64_t last) {
    return *fixture.run(fixture.engine().events(fixture.worker(), {"local", "s1"}, last,
                                                std::chrono::milliseconds(0)));
  };

  const auto all = read(0);
  REQUIRE(all.size() >= 6);
  CHECK(all.front().kind == "turn.accepted");
  CHECK(all.back().kind == "turn.completed");
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    CHECK(all[i].id < all[i + 1].id);
    CHECK(read(all[i].id).size() == all.size() - i - 1);
  }
}

TEST_CASE("A branch goes on from its turn, and the session it came from stays as it is") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two"), says("other")};
  fixture.execute(user_turn("t1", "First."));
  fixture.execute(user_turn("t2", "Second."));

  const auto branch = fixture.run(fixture.engine().branch(fixture.worker(), {"local", "s1"}, "t1"));
  REQUIRE(branch);
  auto request = user_turn(branch->turn_id, "Otherwise.");
  request.session_id = branch->session_id;
  fixture.execute(request);

  CHECK(testing::texts_of(fixture.calls[2]) == "First.|one|Otherwise.");
}

TEST_CASE("The answers of a branch name the branch, and nothing else in them changes") {
  EngineFixture fixture;
  fixture.answers = {says(R"(It is "SessionId":"s1".)"), says("two")};
  const Outcome pascal = fixture.execute(user_turn("t1", "First."));
  auto second = user_turn("t2", "Second.");
  second.dialect = contracts::Dialect::camel;
  const Outcome camel = fixture.execute(second);

  const auto branch = fixture.run(fixture.engine().branch(fixture.worker(), {"local", "s1"}, ""));

  REQUIRE(branch);
  const auto told = [&](const std::string& session_id, const std::string& turn_id) {
    const auto record = fixture.run(fixture.store().find_turn({"local", session_id}, turn_id));
    return contracts::decode_invoke_result((*record)->rounds.front().answer->body);
  };
  for (const auto& [turn_id, before] : {std::pair("t1", pascal), std::pair("t2", camel)}) {
    auto copy = told(branch->session_id, turn_id);
    const auto original = told("s1", turn_id);
    REQUIRE(copy);
    CHECK(contracts::encode(*original, before.dialect) == before.body);
    auto& response = std::get<contracts::AgentExecuteResponse>(copy->outcome);
    CHECK(response.session_id == branch->session_id);
    response.session_id = "s1";
    CHECK(*copy == *original);
  }
}

TEST_CASE("A branch from the newest turn is made also when its decision runs twice") {
  EngineFixture fixture;
  fixture.answers = {says("one"), says("two")};
  fixture.execute(user_turn("t1", "First."));

  const auto branch = fixture.run(fixture.engine().branch(fixture.worker(), {"local", "s1"}, ""));

  REQUIRE(branch);
  CHECK(branch->turn_id == "t1");
}

TEST_CASE("A branch depends on the last run of its decision only") {
  EngineFixture fixture;
  fixture.answers = {says("one")};
  const auto opened = fixture.run(fixture.engine().open_session(fixture.worker(), "local", "", ""));
  auto request = user_turn(opened->turn_id, "First.");
  request.session_id = opened->session_id;
  fixture.execute(request);
  const auto made_up = [&](const store::View& view) {
    store::View before = view;
    before.session->opening_turn = before.newest->turn_id;
    before.named = before.newest;
    return before;
  };
  const auto turns = fixture.run(fixture.store().list_turns(1, 0, 10));
  REQUIRE(turns);
  fixture.repeating_store().first_view = made_up;

  const auto branch = fixture.run(fixture.engine().branch(
      fixture.worker(), {"local", opened->session_id}, turns->front().turn_id));

  REQUIRE(branch);
  CHECK(branch->turn_id == turns->front().turn_id);
}

TEST_CASE("Only a turn that is sent away for want of room is told when to come back") {
  EngineFixture fixture;
  fixture.settings().max_running_turns = 1;
  fixture.hold_answers();
  fixture.begin(user_turn("t1", "First."));
  // The first run sees a journal in which the running turn has not begun yet.
  fixture.repeating_store().first_view = [](const store::View&) { return store::View(); };

  const Outcome refused = fixture.execute(user_turn("t2", "Second."));

  CHECK(refused.error_code == "turn_in_progress");
  CHECK(!refused.retry_after);
}

TEST_CASE("Past the bound of running turns the next one is overloaded") {
  EngineFixture fixture;
  fixture.settings().max_running_turns = 1;
  fixture.hold_answers();
  fixture.begin(user_turn("t1", "Hello."));
  auto other = user_turn("t1", "Hello.");
  other.session_id = "s2";

  CHECK(fixture.execute(other).error_code == "overloaded");
}

}  // namespace
}  // namespace treaty::turns
