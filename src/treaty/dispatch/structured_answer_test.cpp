#include "treaty/dispatch/structured_answer.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

#include "treaty/backends/backend.h"
#include "treaty/results/prices.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

schema::Schema scores() {
  return *schema::Schema::compile(
      R"({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]})");
}

AgentResult said(std::string text) {
  AgentResult result;
  result.content = std::move(text);
  result.finish_reason = "stop";
  result.usage = contracts::UsageInfo{
      .input_tokens = 10, .output_tokens = 2, .total_tokens = 12, .api_calls = 1};
  result.cost = 0.25;
  return result;
}

std::string complaint_about(AgentResult result) {
  result.output = json::ObjectText{{"left", "over"}};
  const auto found = judge_output(result, scores());
  CHECK(result.output.has_value() == !found);
  return found.value_or("");
}

std::string complaint_about(std::string text) { return complaint_about(said(std::move(text))); }

// A model that answers one after the other, and what it was asked.
struct Asked {
  std::vector<AgentResult> answers{};
  std::vector<backends::Call> calls{};

  AgentResult run(bool wants_output = true) {
    asio::io_context context;
    AgentResult last;
    const AskOnce ask = [this](backends::Call call) -> asio::awaitable<AgentResult> {
      calls.push_back(std::move(call));
      co_return answers.at(calls.size() - 1);
    };
    const schema::Schema schema = scores();
    backends::Call call{.model = "m"};
    call.messages.push_back(backends::UserMessage{.parts = {backends::TextPart{"Judge."}}});
    if (wants_output) call.output = backends::OutputSchema{.schema_json = "{}"};
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> { last = co_await ask_for_output(call, schema, ask); },
        asio::detached);
    context.run();
    return last;
  }
};

std::string text_of(const backends::Message& message) {
  const auto& user = std::get<backends::UserMessage>(message);
  return std::get<backends::TextPart>(user.parts[0]).text;
}

}  // namespace

TEST_CASE("A text that fits is the output, also inside a fence, and stays the content") {
  for (const std::string text :
       {R"({"score": 7})", "```json\n{\"score\": 7}\n```", " ```\n{\"score\": 7.0}```\n",
        R"({"score": 7, "extra": "fine"})"}) {
    AgentResult result = said(text);
    CHECK(!judge_output(result, scores()));
    REQUIRE(result.output);
    CHECK(result.output->find_number("score") == 7);
    CHECK(result.content == text);
  }
}

TEST_CASE("A text that does not fit is complained about, in words for the model") {
  CHECK(complaint_about("") == "it is empty");
  CHECK(complaint_about("seven").contains("not JSON"));
  CHECK(complaint_about("{\"score\": 7").contains("not JSON"));
  CHECK(complaint_about("[7]").contains("object"));
  CHECK(complaint_about("{}").contains("score"));
  CHECK(complaint_about(R"({"score": "7"})").contains("/score"));

  AgentResult cut = said("{\"score\":");
  cut.finish_reason = "length";
  CHECK(complaint_about(cut).contains("too long"));
}

TEST_CASE("An answer that fits and is no object has no output, which is a member for objects") {
  AgentResult result = said("[1, 2]");

  CHECK(!judge_output(result, *schema::Schema::compile(R"({"type": "array"})")));
  CHECK(!result.output);
  CHECK(json_of_answer("```json\n[1, 2]\n```\n") == "[1, 2]");
}

TEST_CASE("Nothing is asked of failures, tool calls and refusals") {
  AgentResult failure = said("x");
  failure.error = contracts::AgentError{.message = "m"};
  AgentResult calls = said("x");
  calls.tool_calls = {{{.id = "1", .name = "f", .arguments = "{}"}}};
  AgentResult refusal = said("I will not.");
  refusal.finish_reason = "content_filter";

  for (AgentResult* result : {&failure, &calls, &refusal}) CHECK(!judge_output(*result, scores()));
}

TEST_CASE("An answer that fits is asked for once") {
  Asked model{.answers = {said(R"({"score": 7})")}};

  CHECK(model.run() == [] {
    AgentResult expected = said(R"({"score": 7})");
    expected.output = json::ObjectText{{"score", 7}};
    return expected;
  }());
  CHECK(model.calls.size() == 1);
}

TEST_CASE("After a complaint the model sees its answer and what was wrong with it") {
  Asked model{.answers = {said("seven"), said(R"({"score": 7})")}};

  const AgentResult result = model.run();

  REQUIRE(model.calls.size() == 2);
  const backends::Call& again = model.calls[1];
  REQUIRE(again.messages.size() == 3);
  CHECK(std::get<backends::AssistantMessage>(again.messages[1]).text == "seven");
  CHECK(text_of(again.messages[2]).contains("it is not JSON"));
  CHECK(again.output);
  CHECK(!result.error);
  CHECK(result.output->find_number("score") == 7);
}

TEST_CASE("An empty answer is complained about without being repeated to the model") {
  Asked model{.answers = {said(" \n"), said(R"({"score": 7})")}};

  CHECK(!model.run().error);
  REQUIRE(model.calls.size() == 2);
  REQUIRE(model.calls[1].messages.size() == 2);
  CHECK(text_of(model.calls[1].messages[1]).contains("it is empty"));
}

TEST_CASE("Usage and cost are those of both calls") {
  Asked model{.answers = {said("seven"), said(R"({"score": 7})")}};

  const AgentResult result = model.run();

  REQUIRE(result.usage);
  CHECK(result.usage->input_tokens == 20);
  CHECK(result.usage->total_tokens == 24);
  CHECK(result.usage->api_calls == 2);
  CHECK(results::dollars_of(result) == 0.5);
}

TEST_CASE("An answer that never fits is the error invalid_output, with its text") {
  Asked model{.answers = {said("seven"), said("eight")}};

  const AgentResult result = model.run();

  REQUIRE(result.error);
  CHECK(result.error->code == "invalid_output");
  CHECK(result.error->type == "InvalidOutput");
  CHECK(result.error->retryable == true);
  CHECK(result.error->message.contains("it is not JSON"));
  CHECK(result.finish_reason == "error");
  CHECK(result.content == "eight");
  CHECK(result.usage->api_calls == 2);
  CHECK(model.calls.size() == 2);
}

TEST_CASE("A second call that fails is the failure of both") {
  AgentResult failed = backends::failed_result("rate_limit", "RateLimitError", "Slow down.", true);
  Asked model{.answers = {said("seven"), failed}};

  const AgentResult result = model.run();

  CHECK(result.error->code == "rate_limit");
  CHECK(result.usage->input_tokens == 10);
  CHECK(result.usage->api_calls == 2);
}

TEST_CASE("A call that asks for no output is not judged") {
  Asked model{.answers = {said("seven")}};

  CHECK(!model.run(false).error);
  CHECK(model.calls.size() == 1);
}

}  // namespace treaty::dispatch
