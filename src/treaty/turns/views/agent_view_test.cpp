#include "treaty/turns/views/agent_view.h"

#include <doctest/doctest.h>

#include "treaty/turns/settled_turn.h"

namespace treaty::turns {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using store::TurnState;

store::Round settled_round(const SettledTurn& turn) {
  store::Round round;
  round.answer = store::AnswerRecord{.result = encode(turn, Transcript())};
  return round;
}

store::TurnRecord record_of(TurnState state, std::vector<store::Round> rounds) {
  return {.turn = {.turn_id = "t1", .state = state, .error_code = "turn_expired"},
          .rounds = std::move(rounds)};
}

const SettledTurn kAnswered{
    .answer = contracts::FinalResponse{.primary_output_text = "sealed"},
    .result = {.content = R"({"a":1})",
               .finish_reason = "length",
               .provider_data = json::ObjectText{{"model", "m-2026"},
                                                 {"request_id", "req_7"},
                                                 {"raw_headers", json::ObjectText{{"a", "b"}}}}},
    .backend = "main",
    .model = "m"};

}  // namespace

TEST_CASE("a completed turn is what the agent said, unsealed, and who was asked") {
  const auto result = agent_view(record_of(TurnState::completed, {settled_round(kAnswered)}));

  REQUIRE(result);
  CHECK(result->content == R"({"a":1})");
  CHECK(result->finish_reason == "length");
  CHECK(!result->error);
  CHECK(result->metadata == json::ObjectText{{"backend", "main"}, {"model", "m"}});
  CHECK(result->provider_data == json::ObjectText{{"model", "m-2026"}, {"request_id", "req_7"}});
}

TEST_CASE("an output is there when there is no content") {
  SettledTurn turn = kAnswered;
  turn.result.output = json::ObjectText{{"a", 1}};
  CHECK(!agent_view(record_of(TurnState::completed, {settled_round(turn)}))->output);
  turn.result.content.reset();
  CHECK(agent_view(record_of(TurnState::completed, {settled_round(turn)}))->output ==
        json::ObjectText{{"a", 1}});
}

TEST_CASE("a failure has the message of the answer and the status of the provider") {
  const SettledTurn failed{
      .answer = AnswerError{.code = "server_error", .message = "send it again"},
      .result = {.finish_reason = "error",
                 .error = AgentError{.message = "flux capacitor", .status_code = 503}},
      .backend = "main"};

  const auto result = agent_view(record_of(TurnState::failed, {settled_round(failed)}));

  REQUIRE(result);
  CHECK(result->error == AgentError{.message = "send it again",
                                    .code = "server_error",
                                    .status_code = 503,
                                    .retryable = true});
  CHECK(result->finish_reason == "error");
  CHECK(!result->content);
}

TEST_CASE("a turn that waits has its calls; when it ends so, it has an error") {
  const SettledTurn asking{
      .answer = contracts::ClientToolContinuation{.tool_calls = {{"c1", "look", "{}"}}},
      .result = {.content = "Let me look.", .finish_reason = "tool_use"},
      .backend = "main"};

  const auto waits = agent_view(record_of(TurnState::awaiting_tools, {settled_round(asking)}));
  REQUIRE(waits);
  CHECK(waits->tool_calls == std::vector<contracts::AgentToolCall>{{"c1", "look", "{}"}});

  const auto expired = agent_view(record_of(TurnState::expired, {settled_round(asking)}));
  REQUIRE(expired);
  REQUIRE(expired->error);
  CHECK(expired->error->code == "turn_expired");
  CHECK(!expired->tool_calls);
  CHECK(!expired->content);
}

TEST_CASE("a turn that runs has none, and neither has one that the journal has no value of") {
  CHECK(!agent_view(record_of(TurnState::accepted, {settled_round(kAnswered)})));
  CHECK(!agent_view(record_of(TurnState::completed, {})));
  store::Round round;
  round.answer = store::AnswerRecord{.body = "{}"};
  CHECK(!agent_view(record_of(TurnState::completed, {round})));
}

}  // namespace treaty::turns
