#include <doctest/doctest.h>

#include "treaty/cli/bridge/ask_agent.h"

namespace treaty::cli {
namespace {

using namespace contracts;

BridgeRequest request() {
  return {.request_id = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001",
          .version = "1.0",
          .agent_name = "reviewer",
          .prompt = "Is 2 + 2 = 5?",
          .created_at = "2026-03-01T08:30:00Z"};
}

InvokeResult final_result(FinalResponse last) {
  return {AgentExecuteResponse{"s", "t", "General", std::move(last)}};
}

const turns::SettledTurn kRound{
    .result = {.provider_data = json::ObjectText{{"request_id", "req_7"}, {"provider", "p"}}},
    .backend = "second",
    .model = "small-1"};

}  // namespace

TEST_CASE("the prompt is the instruction, and the turn does not stream") {
  const UserTurn turn = turn_of(request(), "");

  CHECK(turn.instruction == "Is 2 + 2 = 5?");
  CHECK(turn.input_artifacts.empty());
  CHECK(!turn.agent_context_id);
  CHECK(!turn.streaming);
}

TEST_CASE("the context is an artifact, and the agent is named when one is wanted") {
  BridgeRequest asked = request();
  asked.context = {{"files", std::vector<std::string>{"a.cpp"}}, {"ünï", 1}};

  const UserTurn turn = turn_of(asked, "writer");

  CHECK(turn.agent_context_id == "writer");
  REQUIRE(turn.input_artifacts.size() == 1);
  const InputArtifact& context = turn.input_artifacts.front();
  CHECK(context.relative_path == "context.json");
  CHECK(context.mime_type == "application/json");
  CHECK(context.contents == "{\n  \"files\": [\n    \"a.cpp\"\n  ],\n  \"ünï\": 1\n}");
}

TEST_CASE("a final answer is a result with its usage, its warnings and who gave it") {
  const AgentResult result = result_of(
      final_result(
          {.primary_output_text = "No.",
           .user_warnings = std::vector<std::string>{"short"},
           .usage = Usage{.prompt_tokens = 12, .completion_tokens = 3, .total_tokens = 15}}),
      kRound);

  CHECK(result.content == "No.");
  CHECK(result.finish_reason == "stop");
  CHECK(!result.error);
  REQUIRE(result.usage);
  CHECK(result.usage->input_tokens == 12);
  CHECK(result.usage->output_tokens == 3);
  CHECK(result.metadata == json::ObjectText{{"user_warnings", std::vector<std::string>{"short"}}});
  CHECK(result.provider_data == json::ObjectText{{"model", "small-1"}, {"request_id", "req_7"}});
}

TEST_CASE("a failure is a result with its code, its details and the provider's status") {
  const InvokeResult failed{Failure{{InvokeError{.error_code = "rate_limit",
                                                 .message = "too many",
                                                 .fatal_error = false,
                                                 .details = "wait a minute"}}}};
  const turns::SettledTurn round{
      .result = {.error = AgentError{.message = "slow down", .status_code = 429}}};

  const AgentResult result = result_of(failed, round);

  REQUIRE(result.error);
  CHECK(result.error->code == "rate_limit");
  CHECK(result.error->message == "too many: wait a minute");
  CHECK(result.error->retryable == true);
  CHECK(result.error->status_code == 429);
  CHECK(result.finish_reason == "error");
  CHECK(!result.provider_data);
}

TEST_CASE("a failure without a code, of a turn whose rounds nobody can read, is no harm") {
  const InvokeResult failed{
      Failure{{InvokeError{.error_code = "", .message = "no", .fatal_error = true}}}};

  const AgentResult result = result_of(failed, std::nullopt);

  REQUIRE(result.error);
  CHECK(!result.error->code);
  CHECK(result.error->retryable == false);
  CHECK(!result.error->status_code);
}

TEST_CASE("who answered is the one that was tried last") {
  const bridge::AnsweredBy who = answered_by("writer", kRound);
  CHECK(who.agent == "writer");
  CHECK(who.backend == "second");
  CHECK(who.model == "small-1");

  const bridge::AnsweredBy nobody = answered_by("", {});
  CHECK(nobody.agent == "default");
  CHECK(nobody.backend.empty());
}

TEST_CASE("a deadline that passes is an answer with status timeout") {
  const BridgeResponse response =
      bridge::response_of(timed_out(30), {.request_id = "i", .created_at = "2026-03-01T08:30:00Z"},
                          {.agent = "default"});

  const auto* timeout = std::get_if<BridgeTimeout>(&response.outcome);
  REQUIRE(timeout != nullptr);
  CHECK(timeout->error_message == "the agent did not answer within 30 seconds");
}

}  // namespace treaty::cli
