#include "treaty/results/agent_results.h"

#include <doctest/doctest.h>

#include "treaty/results/prices.h"
#include "treaty/results/usage.h"

using namespace treaty;
using namespace treaty::results;
using contracts::AgentResult;

namespace {

constexpr double k2025 = 1'735'689'600;

AgentResult result_of(Answer answer, const Headers& headers = {}) {
  return result_of_answer({.provider = "openai", .status = 200, .headers = headers},
                          std::move(answer));
}

Answer text_answer(std::string text) {
  return {.complete = true, .content = std::move(text), .finish_reason_raw = "stop"};
}

std::string data_of(const AgentResult& result, const char* name) {
  return result.provider_data->find_text(name).value_or("");
}

}  // namespace

TEST_CASE("provider_data tells who answered, which model, and why it ended") {
  Answer answer = text_answer("Hi");
  answer.model = "gpt-4o";

  const AgentResult result = result_of(answer, {{"X-Request-Id", "req_1"}});

  CHECK(data_of(result, "provider") == "openai");
  CHECK(data_of(result, "model") == "gpt-4o");
  CHECK(data_of(result, "request_id") == "req_1");
  CHECK(data_of(result, "finish_reason_raw") == "stop");
  CHECK(result.finish_reason == "stop");
  CHECK(result.content == "Hi");
  CHECK(!result.error);
}

TEST_CASE("the request id is the first of three headers") {
  CHECK(
      data_of(result_of({}, {{"apim-request-id", "c"}, {"request-id", "b"}, {"x-request-id", "a"}}),
              "request_id") == "a");
  CHECK(data_of(result_of({}, {{"apim-request-id", "c"}, {"request-id", "b"}}), "request_id") ==
        "b");
  CHECK(data_of(result_of({}, {{"apim-request-id", "c"}}), "request_id") == "c");
  CHECK(!result_of({}).provider_data->contains("request_id"));
}

TEST_CASE("raw headers are all headers but those that let somebody in") {
  const AgentResult result = result_of({}, {{"Date", "d"},
                                            {"Via", "a"},
                                            {"via", "b"},
                                            {"Set-Cookie", "x"},
                                            {"Authorization", "x"},
                                            {"Proxy-Authorization", "x"},
                                            {"X-Api-Key", "x"},
                                            {"api-key", "x"},
                                            {"X-Auth-Token", "x"},
                                            {"x-amz-security-token", "x"}});

  const auto raw = *result.provider_data->find_object("raw_headers");
  CHECK(raw == json::ObjectText{{"date", "d"}, {"via", "a, b"}});
}

TEST_CASE("a header that repeats the caller's key or is not UTF-8 is masked") {
  const Headers headers{{"x-echo", "Bearer hunter2hunter2"}, {"x-bytes", "\xff"}};

  const AgentResult result = result_of_answer(
      {.provider = "openai", .status = 200, .headers = headers, .known_secret = "hunter2hunter2"},
      text_answer(""));

  const auto raw = *result.provider_data->find_object("raw_headers");
  CHECK(raw.find_text("x-echo") == "***");
  CHECK(raw.find_text("x-bytes") == "***");
}

TEST_CASE("an answer that is not complete is a server_error that may be tried again") {
  Answer answer = text_answer("half");
  answer.complete = false;

  const AgentResult result = result_of(answer);

  REQUIRE(result.error);
  CHECK(result.error->code == "server_error");
  CHECK(result.error->retryable == true);
  CHECK(!result.error->status_code);
  CHECK(result.finish_reason == "error");
  CHECK(result_of(answer, {{"x-should-retry", "false"}}).error->retryable == false);
}

TEST_CASE("a model that gave up is a server_error that may be tried again") {
  const AgentResult result =
      result_of({.complete = true, .finish_reason_raw = "MALFORMED_FUNCTION_CALL"});

  REQUIRE(result.error);
  CHECK(result.error->code == "server_error");
  CHECK(result.error->retryable == true);
  CHECK(result.error->type == "MALFORMED_FUNCTION_CALL");
  CHECK(result.finish_reason == "error");
}

TEST_CASE("an aborted answer is no error") {
  const AgentResult result = result_of({.complete = true, .finish_reason_raw = "cancelled"});

  CHECK(result.finish_reason == "aborted");
  CHECK(!result.error);
}

TEST_CASE("an error inside a success is that error, and what it cost stays") {
  Answer answer = text_answer("half");
  answer.usage = contracts::UsageInfo{.input_tokens = 5};
  answer.error_body = R"({"error": {"type": "overloaded_error", "message": "Overloaded"}})";

  const AgentResult result = result_of(answer);

  CHECK(result.error->type == "overloaded_error");
  CHECK(result.error->message == "Overloaded");
  CHECK(!result.error->status_code);
  CHECK(result.finish_reason == "error");
  CHECK(result.usage->input_tokens == 5);
}

TEST_CASE("an error inside a success that says when to come back limits") {
  Answer answer;
  answer.error_body =
      R"({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 6.5s."}})";

  const AgentResult result = result_of(answer);

  REQUIRE(result.rate_limit);
  CHECK(result.rate_limit->limited);
  CHECK(result.rate_limit->retry_after == Number(6.5));
}

TEST_CASE("rate_limit is absent when nobody said anything about limits") {
  CHECK(!result_of(text_answer("Hi"), {{"date", "Thu, 01 Jan 2026 00:00:00 GMT"}}).rate_limit);
  CHECK(result_of(text_answer("Hi"), {{"ratelimit-remaining", "1"}}).rate_limit->limited == false);
  CHECK(result_of(text_answer("Hi"), {{"retry-after", "3"}}).rate_limit->retry_after == Number(3));
}

TEST_CASE("a refusal is the content where there is no other") {
  const AgentResult result =
      result_of({.complete = true, .refusal = "I cannot.", .finish_reason_raw = "stop"});

  CHECK(result.content == "I cannot.");
  CHECK(result.finish_reason == "content_filter");
  CHECK(!result.error);
}

TEST_CASE("tool calls without an id get one that no other has") {
  Answer answer{.complete = true, .finish_reason_raw = "STOP"};
  answer.tool_calls = {{.id = "", .name = "a", .arguments = ""},
                       {.id = "call_1", .name = "b", .arguments = "{\"x\":1}"},
                       {.id = "", .name = "c", .arguments = "{}"}};

  const AgentResult result = result_of(answer);

  REQUIRE(result.tool_calls);
  CHECK(result.tool_calls->at(0).id == "call_1_");
  CHECK(result.tool_calls->at(1).id == "call_1");
  CHECK(result.tool_calls->at(2).id == "call_3");
  CHECK(result.tool_calls->at(0).arguments == "{}");
  CHECK(result.finish_reason == "tool_use");
  CHECK(!result.content);
}

TEST_CASE("a tool call without a name is no tool call") {
  Answer answer = text_answer("Hi");
  answer.tool_calls = {{.id = "a", .name = "", .arguments = "{}"}};

  const AgentResult result = result_of(answer);

  CHECK(!result.tool_calls);
  CHECK(result.finish_reason == "stop");
}

TEST_CASE("output is the content's object when it was asked for and the text parses") {
  const auto output = [](const char* text, bool wanted = true) {
    return result_of_answer(
               {.provider = "openai", .status = 200, .headers = {}, .wants_output = wanted},
               text_answer(text))
        .output;
  };

  REQUIRE(output(R"({"a": 1})"));
  CHECK(output(R"({"a": 1})")->find_integer("a") == 1);
  CHECK(!output(R"({"a": 1})", false));
  CHECK(!output(R"({"a": 1)"));
  CHECK(!output("[1]"));
  CHECK(!output("Sure! {}"));
  CHECK(!output(""));
}

TEST_CASE("the provider's own figure wins over the table") {
  const PriceTable prices({{.provider = "openai", .model = "m", .from = 0, .price = {.input = 5}}});
  Answer answer = text_answer("Hi");
  answer.model = "m";
  answer.usage = contracts::UsageInfo{.input_tokens = 1'000'000};
  const Exchange exchange{
      .provider = "openai", .status = 200, .headers = {}, .now = k2025, .prices = &prices};

  const AgentResult from_table = result_of_answer(exchange, answer);
  answer.cost = 0.25;
  const AgentResult from_provider = result_of_answer(exchange, answer);

  CHECK(std::get<contracts::CostInfo>(*from_table.cost).total == 0.000005);
  CHECK(std::get<double>(*from_provider.cost) == 0.25);
}

TEST_CASE("kept prompts cost what the provider's own sums say, and are counted once") {
  // Usage as providers state it; dollars as their price lists make of it, term by term.
  struct Bill {
    const char* provider;
    const char* model;
    const char* usage;
    double dollars;
    std::int64_t input_tokens;
  };
  const Bill bills[] = {
      // Anthropic: fresh, written (1.25 times as much) and read (a tenth) are apart.
      {"anthropic", "claude-sonnet-4-5-20250929",
       R"({"input_tokens": 50, "cache_creation_input_tokens": 248,
           "cache_read_input_tokens": 100000, "output_tokens": 503})",
       (50 * 3.00 + 248 * 3.75 + 100'000 * 0.30 + 503 * 15.00) / 1e6, 100'298},
      {"anthropic", "claude-haiku-4-5-20251001",
       R"({"input_tokens": 21, "cache_creation_input_tokens": 188086,
           "cache_read_input_tokens": 0, "output_tokens": 393})",
       (21 * 1.00 + 188'086 * 1.25 + 393 * 5.00) / 1e6, 188'107},
      // OpenAI: what is cached is a part of the prompt.
      {"openai", "gpt-5-2025-08-07",
       R"({"prompt_tokens": 2006, "completion_tokens": 300,
           "prompt_tokens_details": {"cached_tokens": 1920},
           "completion_tokens_details": {"reasoning_tokens": 192}})",
       (86 * 1.25 + 1'920 * 0.125 + 300 * 10.00) / 1e6, 2'006},
      // DeepSeek: hit and miss are the prompt.
      {"deepseek", "deepseek-chat",
       R"({"prompt_tokens": 170, "completion_tokens": 60, "prompt_cache_hit_tokens": 128,
           "prompt_cache_miss_tokens": 42})",
       (42 * 0.28 + 128 * 0.028 + 60 * 0.42) / 1e6, 170}};
  const auto prices = read_prices(built_in_prices());
  REQUIRE(prices);
  for (const Bill& bill : bills) {
    CAPTURE(bill.model);
    const json::Document document(bill.usage);
    Answer answer = text_answer("Hi");
    answer.model = bill.model;
    answer.usage = std::string_view(bill.provider) == "anthropic"
                       ? read_anthropic_usage(*document.root())
                       : read_openai_usage(*document.root());
    const Headers headers;
    const AgentResult result = result_of_answer({.provider = bill.provider,
                                                 .status = 200,
                                                 .headers = headers,
                                                 .now = 1'767'225'600,
                                                 .prices = &*prices},
                                                std::move(answer));

    CHECK(result.usage->input_tokens == bill.input_tokens);
    REQUIRE(dollars_of(result));
    CHECK(*dollars_of(result) == doctest::Approx(bill.dollars).epsilon(1e-12));
  }
}

TEST_CASE("there is no cost without a price, a usage or a model") {
  const PriceTable prices({{.provider = "openai", .model = "m", .from = 0, .price = {.input = 5}}});
  const Exchange exchange{
      .provider = "openai", .status = 200, .headers = {}, .now = k2025, .prices = &prices};
  Answer answer = text_answer("Hi");
  answer.usage = contracts::UsageInfo{.input_tokens = 5};

  CHECK(!result_of_answer(exchange, answer).cost);
  answer.model = "other";
  CHECK(!result_of_answer(exchange, answer).cost);
  answer.model = "m";
  CHECK(result_of_answer(exchange, answer).cost);
  answer.usage.reset();
  CHECK(!result_of_answer(exchange, answer).cost);
}

TEST_CASE("a failed answer has neither content nor usage") {
  const Headers headers{{"request-id", "r"}, {"retry-after", "7"}};

  const AgentResult result = result_of_failure(
      {.provider = "anthropic", .status = 429, .headers = headers},
      R"({"error": {"type": "rate_limit_error", "message": "Slow down"}, "usage": {"input_tokens": 1}})");

  CHECK(result.error->code == "rate_limit");
  CHECK(result.error->status_code == 429);
  CHECK(result.rate_limit->limited);
  CHECK(result.rate_limit->retry_after == Number(7));
  CHECK(result.finish_reason == "error");
  CHECK(data_of(result, "request_id") == "r");
  CHECK(!result.content);
  CHECK(!result.usage);
}

TEST_CASE("a call that got no answer has its error and nothing else") {
  const AgentResult result =
      result_of_error({.provider = "openai", .headers = {}},
                      {.message = "connection refused", .code = "server_error", .retryable = true});

  CHECK(result.error->message == "connection refused");
  CHECK(result.finish_reason == "error");
  CHECK(!result.rate_limit);
  CHECK(result_of_error({.provider = "openai", .headers = {}}, {.message = "gone"}, "aborted")
            .finish_reason == "aborted");
}

namespace {

std::string_view reason_of(std::string raw, bool with_tool_call = false) {
  Answer answer{.complete = true, .finish_reason_raw = std::move(raw)};
  if (with_tool_call) answer.tool_calls.push_back({.id = "a", .name = "look", .arguments = "{}"});
  return finish_reason_of(answer);
}

void check_all(std::initializer_list<const char*> raw, std::string_view expected) {
  for (const char* word : raw) {
    CAPTURE(word);
    CHECK(reason_of(word) == expected);
  }
}

}  // namespace

TEST_CASE("every word for a natural end is stop, and so is one that nobody knows") {
  check_all({"stop", "end_turn", "stop_sequence", "eos", "completed", "STOP", "pause_turn",
             "compaction", "", "something_new"},
            "stop");
}

TEST_CASE("every word for a full answer is length") {
  check_all({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length",
             "model_context_window_exceeded"},
            "length");
}

TEST_CASE("every word for tool calls is tool_use") {
  check_all({"tool_calls", "tool_use", "function_call"}, "tool_use");
}

TEST_CASE("every word for a filter is content_filter") {
  check_all({"content_filter", "refusal", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST",
             "SPII", "MODEL_ARMOR"},
            "content_filter");
}

TEST_CASE("every word for a failure is error") {
  check_all({"error", "failed", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}, "error");
}

TEST_CASE("every word for a caller that went away is aborted") {
  check_all({"cancelled", "aborted"}, "aborted");
}

TEST_CASE("any stop with tool calls is tool_use, other reasons stay") {
  for (const char* raw : {"stop", "STOP", "completed", "end_turn", "", "something_new"}) {
    CAPTURE(raw);
    CHECK(reason_of(raw, true) == "tool_use");
  }
  CHECK(reason_of("length", true) == "length");
  CHECK(reason_of("SAFETY", true) == "content_filter");
}

TEST_CASE("a refusal with stop is content_filter") {
  CHECK(finish_reason_of({.refusal = "No.", .finish_reason_raw = "stop"}) == "content_filter");
  CHECK(finish_reason_of({.refusal = "No.", .finish_reason_raw = "length"}) == "length");
}

TEST_CASE("a prompt that was blocked is content_filter, whatever the reason") {
  CHECK(finish_reason_of({.finish_reason_raw = "OTHER", .prompt_blocked = true}) ==
        "content_filter");
}
