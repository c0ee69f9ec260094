#include "treaty/machines/backend/answer.h"

#include <doctest/doctest.h>

#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

Outcome completed(Dynamic output) {
  Outcome outcome{.status = Status::completed, .execution = "turn-1"};
  outcome.output = std::move(output);
  return outcome;
}

TEST_CASE("A call becomes the input of a machine: the newest words, all of them, the system text") {
  backends::Call call{.model = {}, .system = "Be brief."};
  call.messages.push_back(backends::UserMessage{{backends::TextPart{"One."}}});
  call.messages.push_back(backends::AssistantMessage{.text = "Yes."});
  call.messages.push_back(
      backends::UserMessage{{backends::TextPart{"Look:"}, backends::ImagePart{"image/png", "AAAA"},
                             backends::TextPart{"Two."}}});

  const Object input = input_of(call);

  CHECK(input == Object{{"message", "Look:\nTwo."},
                        {"messages", List{Object{{"role", "user"}, {"content", "One."}},
                                          Object{{"role", "assistant"}, {"content", "Yes."}},
                                          Object{{"role", "user"}, {"content", "Look:\nTwo."}}}},
                        {"system", "Be brief."}});
}

TEST_CASE("Calls of tools and their results are told with their names") {
  backends::Call call{.model = {}};
  call.messages.push_back(backends::AssistantMessage{.tool_calls = {{"a", "look", "{}"}}});
  call.messages.push_back(backends::ToolMessage{"a", "look", "dark", true});

  const Object input = input_of(call);

  CHECK(
      input.at("messages") ==
      List{Object{{"role", "assistant"},
                  {"content", ""},
                  {"tool_calls", List{Object{{"id", "a"}, {"name", "look"}, {"arguments", "{}"}}}}},
           Object{{"role", "tool"},
                  {"tool_call_id", "a"},
                  {"name", "look"},
                  {"content", "dark"},
                  {"is_error", true}}});
  CHECK(input.at("message") == "");
}

TEST_CASE("The text that is meant to be read is the answer") {
  const auto content = [](Dynamic output) {
    return *result_of(completed(std::move(output))).content;
  };

  CHECK(content(Object{{"content", "A"}, {"text", "B"}}) == "A");
  CHECK(content(Object{{"text", "B"}, {"answer", "C"}}) == "B");
  CHECK(content(Object{{"answer", "C"}, {"n", 1}}) == "C");
  CHECK(content(Object{{"content", 1}, {"text", "B"}}) == "B");
  CHECK(content(Object{{"summary", "S"}}) == "S");
  CHECK(content(Object{{"summary", "S"}, {"n", 1}}) == R"({"summary":"S","n":1})");
  CHECK(content(Object{}) == "{}");
  CHECK(content("words") == "words");
}

TEST_CASE("An output stays there as it is, and says where it came from") {
  const auto result = result_of(completed(Object{{"answer", "C"}, {"n", 1}}));

  CHECK(result.finish_reason == "stop");
  CHECK(result.output == json::ObjectText{{"answer", "C"}, {"n", 1}});
  CHECK(!result.error);
  CHECK(result.provider_data ==
        json::ObjectText{{"provider", "machine"}, {"execution_id", "turn-1"}});
}

TEST_CASE("A machine that failed gives its error") {
  Outcome outcome{.status = Status::failed};
  outcome.error = make_error("rate_limit", "RateLimitError", "Too fast.", true);
  outcome.error["state"] = "draft";
  outcome.error["status_code"] = 429;

  const auto result = result_of(outcome);

  CHECK(result.finish_reason == "error");
  CHECK(*result.error == contracts::AgentError{.message = "Too fast.",
                                               .code = "rate_limit",
                                               .type = "RateLimitError",
                                               .status_code = 429,
                                               .retryable = true});
}

TEST_CASE("An error always has a code: without one it would be a call that was cancelled") {
  Outcome outcome{.status = Status::failed};
  outcome.error = Object{{"message", "?"}};

  CHECK(result_of(outcome).error->code == "server_error");
}

TEST_CASE("A machine that waits for tools calls them under ids made of their keys") {
  Outcome outcome{.status = Status::waiting};
  outcome.tool_calls = {
      Object{{"id", "a"}, {"name", "look"}, {"arguments", "{}"}, {"key", "x:1:1:0"}},
      Object{{"id", "a"}, {"name", "look"}, {"arguments", "{}"}, {"key", "x:1:1:1"}}};

  const auto result = result_of(outcome);

  CHECK(result.finish_reason == "tool_use");
  REQUIRE(result.tool_calls->size() == 2);
  CHECK(result.tool_calls->front() ==
        contracts::AgentToolCall{public_id_of("x:1:1:0"), "look", "{}"});
  CHECK(result.tool_calls->front().id != result.tool_calls->back().id);
  CHECK(result.tool_calls->front().id.size() == 29);
}

TEST_CASE("A machine that waits for a signal says which, and what to do") {
  Outcome outcome{.status = Status::waiting};
  outcome.channel = "approval/7";

  const auto result = result_of(outcome);

  CHECK(result.error->code == "machine_waiting");
  CHECK(result.error->retryable == true);
  CHECK(result.error->message.contains("treaty machine signal approval/7"));
}

TEST_CASE("A machine that was interrupted is a call that was cancelled") {
  const auto result = result_of(Outcome{.status = Status::interrupted});

  CHECK(result.finish_reason == "aborted");
  CHECK(!result.error->code);
}

TEST_CASE("What another runner has may be had later, what cannot be read may not") {
  Outcome taken{.status = Status::lost};
  taken.trouble = {.code = ErrorCode::conflict, .message = "it is run elsewhere"};

  CHECK(result_of(taken).error->retryable == true);
  CHECK(result_of(taken).error->code == "server_error");
  CHECK(result_of(Error{.code = ErrorCode::corrupt, .message = "?"}).error->retryable == false);
}

TEST_CASE("What the calls took is summed, and what nobody named stays absent") {
  Tally tally;
  tally.add(Object{{"usage", Object{{"input_tokens", 5}, {"output_tokens", 2}, {"api_calls", 2}}},
                   {"cost", 0.5}});
  tally.add(Object{{"usage", Object{{"input_tokens", 1}}}});
  tally.add("a text");
  contracts::AgentResult result;

  tally.give_to(result);

  CHECK(*result.usage ==
        contracts::UsageInfo{.input_tokens = 6, .output_tokens = 2, .api_calls = 4});
  CHECK(std::get<double>(*result.cost) == 0.5);

  contracts::AgentResult silent;
  Tally().give_to(silent);
  CHECK(!silent.usage);
  CHECK(!silent.cost);
}

}  // namespace
}  // namespace treaty::machines
