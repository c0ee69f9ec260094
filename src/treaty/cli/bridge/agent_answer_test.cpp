#include "treaty/cli/bridge/agent_answer.h"

#include <doctest/doctest.h>

#include "treaty/turns/seal.h"

namespace treaty::cli {

using namespace contracts;

namespace {

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

const AgentResult kSaid{
    .content = "No.",
    .metadata = json::ObjectText{{"backend", "second"}, {"model", "small-1"}},
    .provider_data = json::ObjectText{{"request_id", "req_7"}, {"provider", "p"}}};

AgentResult result_of_text(std::string text, std::string finish_reason = "stop") {
  const turns::Sealed sealed = turns::seal(text);
  FinalResponse last{.primary_output_text = sealed.text};
  if (!sealed.user_warnings.empty()) last.user_warnings = sealed.user_warnings;
  return result_of(
      final_result(std::move(last)),
      AgentResult{.content = std::move(text), .finish_reason = std::move(finish_reason)});
}

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
      kSaid);

  CHECK(result.content == "No.");
  CHECK(result.finish_reason == "stop");
  CHECK(!result.error);
  REQUIRE(result.usage);
  CHECK(result.usage->input_tokens == 12);
  CHECK(result.usage->output_tokens == 3);
  CHECK(result.metadata == json::ObjectText{{"user_warnings", std::vector<std::string>{"short"}}});
  CHECK(result.provider_data == json::ObjectText{{"model", "small-1"}, {"request_id", "req_7"}});
}

TEST_CASE("the text is the agent's own, byte for byte, and no warning speaks of a seal") {
  const std::string base64(4'000, 'Q');
  for (const std::string& text :
       {std::string(R"({"a":1})"), base64, "See data:image/png;base64," + base64 + " there.",
        std::string("\n  indented  \n\n"), std::string(std::size_t{2} << 20U, 'x'),
        std::string("ünï\t\"q\"")}) {
    const AgentResult result = result_of_text(text);

    CHECK(result.content == text);
    CHECK(!result.error);
    CHECK(!result.metadata);
  }
}

TEST_CASE("an empty or blank answer is an error, whatever the seal put in its place") {
  for (const std::string text : {"", " ", "\n\t \n", "\xC2\xA0"}) {
    const AgentResult result = result_of_text(text);

    REQUIRE(result.error);
    CHECK(result.error->code == "server_error");
    CHECK(result.error->message == "the agent gave an empty answer");
    CHECK(result.error->retryable == true);
    CHECK(result.finish_reason == "error");
  }
  const AgentResult cut = result_of_text("", "length");
  REQUIRE(cut.error);
  CHECK(cut.error->message.contains("length limit"));
  CHECK(cut.error->retryable == false);
}

TEST_CASE("an answer that was cut at its length says so, and an output stands in for a content") {
  CHECK(result_of_text("half an ans", "length").finish_reason == "length");

  const AgentResult output = result_of(final_result({.primary_output_text = "sealed"}),
                                       AgentResult{.output = json::ObjectText{{"a", 1}}});
  CHECK(output.content == R"({"a":1})");
}

TEST_CASE("a model is not followed when neither what was asked nor what answered is it") {
  BridgeRequest asked = request();
  CHECK(!unfollowed_model(asked, kSaid));
  asked.model = "sonnet";
  CHECK(unfollowed_model(asked, kSaid) == "sonnet");
  CHECK(!unfollowed_model(asked, AgentResult{}));  // Nobody was asked.
  asked.model = "small-1";
  CHECK(!unfollowed_model(asked, kSaid));
  AgentResult dated = kSaid;
  dated.provider_data->set("model", "small-1-2026");
  asked.model = "small-1-2026";
  CHECK(!unfollowed_model(asked, dated));
}

TEST_CASE("a failure is a result with its code, its details and the provider's status") {
  const InvokeResult failed{Failure{{InvokeError{.error_code = "rate_limit",
                                                 .message = "too many",
                                                 .fatal_error = false,
                                                 .details = "wait a minute"}}}};
  const AgentResult said{.error = AgentError{.message = "slow down", .status_code = 429}};

  const AgentResult result = result_of(failed, said);

  REQUIRE(result.error);
  CHECK(result.error->code == "rate_limit");
  CHECK(result.error->message == "too many: wait a minute");
  CHECK(result.error->retryable == true);
  CHECK(result.error->status_code == 429);
  CHECK(result.finish_reason == "error");
  CHECK(!result.provider_data);
}

TEST_CASE("a failure without a code, of a turn whose result nobody can read, is no harm") {
  const InvokeResult failed{
      Failure{{InvokeError{.error_code = "", .message = "no", .fatal_error = true}}}};

  const AgentResult result = result_of(failed, std::nullopt);

  REQUIRE(result.error);
  CHECK(!result.error->code);
  CHECK(result.error->retryable == false);
  CHECK(!result.error->status_code);
}

TEST_CASE("who answered is the one that was tried last") {
  const bridge::AnsweredBy who = answered_by("writer", kSaid);
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
