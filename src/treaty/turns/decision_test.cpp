#include "treaty/turns/decision.h"

#include <doctest/doctest.h>

#include "treaty/testing/engine_fixture.h"

namespace treaty::turns {
namespace {

using contracts::AgentExecuteRequest;
using contracts::ToolContinuation;
using contracts::UserTurn;
using store::Turn;
using store::TurnState;
using store::View;
using testing::user_turn;

constexpr store::Milliseconds kNow = 1'000'000;

Settings settings() {
  Settings made;
  made.agents["default"] = {.name = "default", .chain = {{.backend = "scripted"}}};
  made.agents["writer"] = {.name = "writer",
                           .conversations = {{"brief", AgentRole{.mode = "Brief"}}},
                           .chain = {{.backend = "scripted"}}};
  return made;
}

AgentExecuteRequest results_for(const std::vector<std::string>& ids) {
  ToolContinuation continuation;
  for (const auto& id : ids) {
    continuation.tool_results.push_back(
        {.tool_call_id = id, .execution_ms = 1, .outcome = contracts::ResultJson{"{}"}});
  }
  return {.session_id = "s1", .turn_id = "t1", .scenario = continuation};
}

TurnRequest asked(AgentExecuteRequest request, const std::optional<std::string>& key = {}) {
  TurnRequest made = ask("local", std::move(request), key, kNow);
  made.renderer = &testing::answer_renderer();
  return made;
}

Turn turn(std::int64_t number, TurnState state) {
  return {.id = 10 + number,
          .session = 1,
          .number = number,
          .turn_id = "t" + std::to_string(number),
          .state = state};
}

// A session of the default agent whose newest living turn is `newest`.
View view(std::optional<Turn> newest = {}, std::optional<Turn> named = {}) {
  View made;
  made.session = store::Session{.id = 1, .room = {"local", "s1"}, .agent = "default"};
  made.newest = std::move(newest);
  made.named = std::move(named);
  return made;
}

Turn waiting(const std::vector<std::string>& ids) {
  std::vector<contracts::ToolCall> calls;
  calls.reserve(ids.size());
  for (const auto& id : ids) calls.push_back({id, "read_file", "{}"});
  Turn made = turn(1, TurnState::awaiting_tools);
  made.pending = encode_pending(calls);
  made.tool_deadline = kNow + 1;
  return made;
}

Reason reason_of(const Decision& decision) {
  REQUIRE(std::holds_alternative<Refusal>(decision.verdict));
  return std::get<Refusal>(decision.verdict).reason;
}

const Begin& begun(const Decision& decision) {
  REQUIRE(std::holds_alternative<Begin>(decision.verdict));
  return std::get<Begin>(decision.verdict);
}

TEST_CASE("An unknown session is opened by its first request, with the client's own TurnId") {
  const auto decision = decide(settings(), asked(user_turn("mine")), View());

  CHECK(begun(decision).turn.turn_id == "mine");
  CHECK(begun(decision).history_until == 0);
  REQUIRE(decision.change.open);
  CHECK(decision.change.open->room.session_id == "s1");
  CHECK(decision.change.agent == "default");
}

TEST_CASE("With sessions.open: explicit an unknown session is not found") {
  Settings explicit_sessions = settings();
  explicit_sessions.explicit_sessions = true;

  const auto decision = decide(explicit_sessions, asked(user_turn("mine")), View());

  CHECK(reason_of(decision) == Reason::session_not_found);
  CHECK(decision.change.is_empty());
}

TEST_CASE("A user turn that names the newest turn follows it under a new id") {
  const Turn newest = turn(1, TurnState::completed);

  const auto decision = decide(settings(), asked(user_turn("t1")), view(newest, newest));

  CHECK(begun(decision).turn.turn_id != "t1");
  CHECK(begun(decision).turn.turn_id.size() == 36);
  CHECK(begun(decision).history_until == 1);
}

TEST_CASE("A user turn with an unknown TurnId is appended after the newest under that id") {
  const auto decision =
      decide(settings(), asked(user_turn("t9")), view(turn(1, TurnState::completed)));

  CHECK(begun(decision).turn.turn_id == "t9");
}

TEST_CASE("So many results that matching takes long are matched outside the transaction") {
  const Turn waits = waiting({"c1"});
  TurnRequest request = asked(results_for(std::vector<std::string>(2'000, "other")));

  const auto first = decide(settings(), request, view(waits, waits));
  REQUIRE(std::holds_alternative<MatchFirst>(first.verdict));
  CHECK(first.change.is_empty());
  request.matched = match_results(request, std::get<MatchFirst>(first.verdict).pending);

  CHECK(reason_of(decide(settings(), request, view(waits, waits))) ==
        Reason::tool_results_mismatch);
  const Turn others = waiting({"c2"});  // The turn waits for other calls by now.
  CHECK(std::holds_alternative<MatchFirst>(
      decide(settings(), request, view(others, others)).verdict));
}

TEST_CASE("Warnings about a request are journalled with it and read back") {
  TurnRequest request = asked(user_turn("t1"));
  request.warnings = {{.code = "contract_warning",
                       .message = "a \"member\"\nthat is unknown",
                       .context = "/Surprise",
                       .details = "REQ-15"},
                      {.code = "contract_warning", .message = "another"}};

  const auto decision = decide(settings(), request, View());

  REQUIRE(decision.change.request);
  CHECK(warnings_of(*decision.change.request) == request.warnings);
  CHECK(warnings_of(store::RequestRecord()).empty());
}

TEST_CASE("The opening TurnId of a session counts as known") {
  View opened = view();
  opened.session->opening_turn = "opening";

  CHECK(begun(decide(settings(), asked(user_turn("opening")), opened)).turn.turn_id != "opening");

  opened.newest = turn(1, TurnState::completed);
  CHECK(reason_of(decide(settings(), asked(user_turn("opening")), opened)) ==
        Reason::turn_superseded);
}

TEST_CASE("Following a turn that has another successor names the newest TurnId") {
  const auto decision = decide(settings(), asked(user_turn("t1")),
                               view(turn(2, TurnState::completed), turn(1, TurnState::completed)));

  CHECK(reason_of(decision) == Reason::turn_superseded);
  CHECK(std::get<Refusal>(decision.verdict).context == "t2");
}

TEST_CASE("A second user turn is refused while the newest one runs or waits for tools") {
  CHECK(reason_of(decide(settings(), asked(user_turn("t9")), view(turn(1, TurnState::accepted)))) ==
        Reason::turn_in_progress);
  CHECK(reason_of(decide(settings(), asked(user_turn("t9")), view(waiting({"a"})))) ==
        Reason::turn_in_progress);
}

TEST_CASE("A turn whose tools are overdue expires before the next one begins") {
  Turn overdue = waiting({"a"});
  overdue.tool_deadline = kNow;

  const auto decision = decide(settings(), asked(user_turn("t9")), view(overdue));

  CHECK(std::holds_alternative<ExpireFirst>(decision.verdict));
  CHECK(decision.change.is_empty());
}

TEST_CASE("A turn whose tools are overdue is seen as expired, whether or not it is journalled") {
  const Turn pending = waiting({"a"});

  CHECK(as_of(pending, kNow) == pending);
  CHECK(as_of(pending, kNow + 1).state == TurnState::expired);
  CHECK(as_of(pending, kNow + 1).error_code == "turn_expired");
  CHECK(as_of(turn(1, TurnState::completed), kNow).state == TurnState::completed);
  CHECK(end_waiting(pending, kNow).update->state == TurnState::cancelled);
  CHECK(end_waiting(pending, kNow + 1).update->state == TurnState::expired);
}

TEST_CASE("A dead turn may be followed, and so may the turn before it") {
  for (const TurnState dead : {TurnState::failed, TurnState::cancelled, TurnState::expired}) {
    const Turn newest = turn(1, TurnState::completed);

    CHECK(begun(decide(settings(), asked(user_turn("t2")), view(newest, turn(2, dead))))
              .history_until == 1);
    CHECK(begun(decide(settings(), asked(user_turn("t1")), view(newest, newest))).history_until ==
          1);
  }
}

TEST_CASE("A dead turn that the session has gone on without is superseded") {
  const auto decision = decide(settings(), asked(user_turn("t1")),
                               view(turn(2, TurnState::completed), turn(1, TurnState::failed)));

  CHECK(reason_of(decision) == Reason::turn_superseded);
}

TEST_CASE("Agent and conversation are fixed by the first turn") {
  auto request = user_turn("t9");
  std::get<UserTurn>(request.scenario).agent_context_id = "writer";
  std::get<UserTurn>(request.scenario).conversation_context_id = "brief";

  const auto first = decide(settings(), asked(request), View());
  CHECK(begun(first).turn.mode == "Brief");
  CHECK(first.change.agent == "writer");
  CHECK(first.change.conversation == "brief");

  CHECK(reason_of(decide(settings(), asked(request), view())) == Reason::agent_mismatch);
}

TEST_CASE("An agent or a conversation that is not configured is not found") {
  auto request = user_turn("t9");
  std::get<UserTurn>(request.scenario).agent_context_id = "nobody";
  CHECK(reason_of(decide(settings(), asked(request), View())) == Reason::agent_not_found);

  std::get<UserTurn>(request.scenario).agent_context_id = "writer";
  std::get<UserTurn>(request.scenario).conversation_context_id = "long";
  CHECK(reason_of(decide(settings(), asked(request), View())) == Reason::agent_not_found);
}

TEST_CASE("SolutionContextText is latched: present it replaces, absent it leaves what is stored") {
  View stored = view();
  stored.session->solution_context = "old";
  auto request = user_turn("t9");

  CHECK(begun(decide(settings(), asked(request), stored)).session.solution_context == "old");

  std::get<UserTurn>(request.scenario).solution_context_text = "new";
  const auto decision = decide(settings(), asked(request), stored);
  CHECK(begun(decision).session.solution_context == "new");
  CHECK(decision.change.solution_context == "new");
}

TEST_CASE("Exact results resume the turn in its next round, under the same id") {
  const Turn pending = waiting({"a", "b"});

  const auto decision = decide(settings(), asked(results_for({"a", "b"})), view(pending, pending));

  CHECK(begun(decision).turn.turn_id == "t1");
  CHECK(begun(decision).turn.round == 1);
  REQUIRE(decision.change.request);
  CHECK(decision.change.request->round == 1);
  CHECK(decision.change.update->state == TurnState::accepted);
}

TEST_CASE("Results that do not match exactly change nothing and name the first difference") {
  const Turn pending = waiting({"a", "b"});
  for (const auto& ids : {std::vector<std::string>{"b", "a"}, {"a"}, {"a", "b", "c"}, {"a", "x"}}) {
    const auto decision = decide(settings(), asked(results_for(ids)), view(pending, pending));

    CHECK(reason_of(decision) == Reason::tool_results_mismatch);
    CHECK(decision.change.is_empty());
    CHECK(std::get<Refusal>(decision.verdict).details->contains("TOOL-1"));
  }
}

TEST_CASE("A refusal points into the request as the request is spelled") {
  const auto refused = [](AgentExecuteRequest request, const View& seen) {
    Settings explicit_sessions = settings();
    explicit_sessions.explicit_sessions = true;
    request.dialect = contracts::Dialect::camel;
    const auto decision = decide(explicit_sessions, asked(std::move(request)), seen);
    REQUIRE(std::holds_alternative<Refusal>(decision.verdict));
    return std::get<Refusal>(decision.verdict);
  };
  AgentExecuteRequest other_agent = user_turn("t1");
  std::get<UserTurn>(other_agent.scenario).agent_context_id = "writer";
  const Turn pending = waiting({"a"});

  CHECK(refused(user_turn("t1"), View()).context == "/sessionId");
  CHECK(refused(other_agent, view()).context == "/agentContextId");
  CHECK(refused(results_for({"b"}), view(pending, pending)).context == "/toolResults");
  CHECK(refused(results_for({"b"}), view(pending, pending)).details->contains(" /toolResults: "));
  CHECK(refused(results_for({"a"}), View()).details == "TOOL-13 /turnId");
}

TEST_CASE("With on_mismatch: fail_turn a mismatch ends the turn") {
  Settings strict = settings();
  strict.agents.at("default").on_mismatch = OnMismatch::fail_turn;
  const Turn pending = waiting({"a"});

  const auto decision = decide(strict, asked(results_for({"b"})), view(pending, pending));

  REQUIRE(std::holds_alternative<Replay>(decision.verdict));
  CHECK(std::get<Replay>(decision.verdict).round.answer->error_code == "tool_results_mismatch");
  CHECK(decision.change.update->state == TurnState::failed);
  CHECK(decision.change.answer == std::get<Replay>(decision.verdict).round.answer);
}

TEST_CASE("TOOL-13: results for a turn that does not wait, or that nobody knows, are refused") {
  CHECK(reason_of(decide(settings(), asked(results_for({"a"})), View())) ==
        Reason::tool_results_mismatch);
  CHECK(reason_of(decide(settings(), asked(results_for({"a"})), view())) ==
        Reason::tool_results_mismatch);
  const Turn done = turn(1, TurnState::completed);
  CHECK(reason_of(decide(settings(), asked(results_for({"a"})), view(done, done))) ==
        Reason::tool_results_mismatch);
  const Turn cancelled = turn(1, TurnState::cancelled);
  CHECK(reason_of(decide(settings(), asked(results_for({"a"})), view({}, cancelled))) ==
        Reason::turn_cancelled);
  const Turn expired = turn(1, TurnState::expired);
  CHECK(reason_of(decide(settings(), asked(results_for({"a"})), view({}, expired))) ==
        Reason::turn_expired);
}

// A view in which `request` was journalled before, as the newest round of `of`.
View seen(const TurnRequest& request, const Turn& of) {
  View made = view(is_dead(of.state) ? std::nullopt : std::optional(of), of);
  made.same_turn = of;
  made.same = store::Round{.request = {.round = of.round, .fingerprint = request.fingerprint}};
  if (of.state != TurnState::accepted) made.same->answer = store::AnswerRecord{.body = "{}"};
  return made;
}

TEST_CASE("The same request again is answered from the journal") {
  const TurnRequest request = asked(user_turn("t1"));
  Turn failed = turn(1, TurnState::failed);
  for (const Turn& of : {turn(1, TurnState::completed), turn(1, TurnState::awaiting_tools), failed,
                         turn(1, TurnState::cancelled)}) {
    const auto decision = decide(settings(), request, seen(request, of));

    CHECK(std::holds_alternative<Replay>(decision.verdict));
    CHECK(decision.change.is_empty());
  }
}

TEST_CASE("The request of a turn that failed with a retryable error runs again, in the same turn") {
  const TurnRequest request = asked(user_turn("t1"));
  Turn failed = turn(1, TurnState::failed);
  failed.retryable = true;

  const auto decision = decide(settings(), request, seen(request, failed));

  CHECK(begun(decision).turn.id == failed.id);
  CHECK(decision.change.update->state == TurnState::accepted);

  View gone_on = seen(request, failed);
  gone_on.newest = turn(2, TurnState::completed);
  CHECK(reason_of(decide(settings(), request, gone_on)) == Reason::turn_superseded);
}

TEST_CASE("A failed turn does not run again beside one that runs or waits, though it is older") {
  const TurnRequest request = asked(user_turn("t2"));
  Turn failed = turn(2, TurnState::failed);
  failed.retryable = true;
  for (const Turn& newest : {turn(1, TurnState::accepted), waiting({"a"})}) {
    View repeated = seen(request, failed);
    repeated.newest = newest;
    CHECK(reason_of(decide(settings(), request, repeated)) == Reason::turn_in_progress);
  }
  View done = seen(request, failed);
  done.newest = turn(1, TurnState::completed);
  CHECK(begun(decide(settings(), request, done)).turn.id == failed.id);
}

TEST_CASE("The same request while the first one runs is told to be running") {
  const TurnRequest request = asked(user_turn("t1"));

  const auto decision = decide(settings(), request, seen(request, turn(1, TurnState::accepted)));

  CHECK(std::holds_alternative<Running>(decision.verdict));
}

TEST_CASE("An Idempotency-Key with the same ids and another body is a conflict") {
  const TurnRequest first = asked(user_turn("t1", "one"), "key");
  const TurnRequest second = asked(user_turn("t1", "two"), "key");
  CHECK(first.key == second.key);
  CHECK(asked(user_turn("t2", "one"), "key").key != first.key);

  const auto decision = decide(settings(), second, seen(first, turn(1, TurnState::completed)));

  CHECK(reason_of(decision) == Reason::idempotency_conflict);
}

TEST_CASE("Streaming and dialect are not part of the fingerprint; ids and texts are") {
  const TurnRequest plain = asked(user_turn("t1"));
  auto other = user_turn("t1");
  std::get<UserTurn>(other.scenario).streaming = true;
  other.dialect = contracts::Dialect::camel;

  CHECK(asked(other).key == plain.key);
  CHECK(asked(user_turn("t2")).key != plain.key);
  CHECK(asked(user_turn("t1", "Bye.")).key != plain.key);
}

TEST_CASE("A request without ids is new each time, unless an Idempotency-Key says otherwise") {
  AgentExecuteRequest initial{
      .session_id = "", .turn_id = "", .scenario = UserTurn{.instruction = "Hello."}};

  CHECK(asked(initial).key != asked(initial).key);
  CHECK(asked(initial, "key").key == asked(initial, "key").key);

  const auto decision = decide(settings(), asked(initial, "key"), View());
  CHECK(begun(decision).session.room.session_id.size() == 36);
  CHECK(begun(decision).turn.turn_id.size() == 36);
  CHECK(!decision.change.open->initial_key.empty());
}

}  // namespace
}  // namespace treaty::turns
