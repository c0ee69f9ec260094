#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/stream_parser.h"

using namespace treaty;
using namespace treaty::backends;
using results::Answer;

namespace {

Answer plain(std::string_view body) { return chat_completions().parse_response(body); }

Answer message(std::string_view members) {
  return plain(fmt::format(R"({{"choices": [{{"index": 0, "message": {{{}}}}}]}})", members));
}

Answer streamed(std::initializer_list<std::string_view> events) {
  StreamParser parser(chat_completions());
  for (const std::string_view data : events) parser.feed(http::event_bytes("", data));
  return parser.finish();
}

Answer deltas(std::initializer_list<std::string_view> members) {
  StreamParser parser(chat_completions());
  for (const std::string_view delta : members) {
    parser.feed(http::event_bytes(
        "", fmt::format(R"({{"choices": [{{"index": 0, "delta": {{{}}}}}]}})", delta)));
  }
  parser.feed("data: [DONE]\n\n");
  return parser.finish();
}

std::string calls_of(const Answer& answer) {
  std::string text;
  for (const auto& call : answer.tool_calls) {
    text += fmt::format("{}:{}:{};", call.id, call.name, call.arguments);
  }
  return text;
}

}  // namespace

TEST_CASE("chat: of several choices the one with index 0 counts") {
  CHECK(plain(R"({"choices": [{"index": 1, "message": {"content": "b"}},
                              {"index": 0, "message": {"content": "a"}}]})")
            .content == "a");
  CHECK(plain(R"({"choices": [{"message": {"content": "a"}}]})").content == "a");
  CHECK(streamed({R"({"choices": [{"index": 1, "delta": {"content": "b"}}]})",
                  R"({"choices": [{"index": 0, "delta": {"content": "a"}}]})", "[DONE]"})
            .content == "a");
}

TEST_CASE("chat: content may be parts, and reasoning is none of it") {
  CHECK(message(R"("content": [{"type": "text", "text": "a"}, {"type": "thinking", "text": "x"},
                               {"type": "text", "text": "b"}])")
            .content == "ab");
  CHECK(message(R"("reasoning": "x", "reasoning_content": "x", "content": "a")").content == "a");
  CHECK(deltas({R"("reasoning_content": "x")", R"("content": "a")"}).content == "a");
  CHECK(message(R"("content": null)").content.empty());
}

TEST_CASE("chat: functions, custom tools and the legacy function_call are tool calls") {
  CHECK(calls_of(message(R"("tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
          {"id": "b", "type": "custom", "custom": {"name": "g", "input": "SELECT 1"}}])")) ==
        R"(a:f:{"x":1};b:g:SELECT 1;)");
  CHECK(calls_of(message(R"("function_call": {"name": "f", "arguments": "{}"})")) == ":f:{};");
  CHECK(calls_of(message(R"("tool_calls": [{"id": "a", "function": {"name": "f",
          "arguments": {"x": [1, 2]}}}])")) == R"(a:f:{"x":[1,2]};)");
}

TEST_CASE("chat: pieces of a tool call belong together by index, without one by id") {
  CHECK(calls_of(deltas({R"("tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}])",
                         R"("tool_calls": [{"index": 1, "id": "b", "function": {"name": "g"}}])",
                         R"("tool_calls": [{"index": 1, "function": {"arguments": "{}"}}])",
                         R"("tool_calls": [{"index": 0, "function": {"arguments": "[]"}}])"})) ==
        "a:f:[];b:g:{};");
  CHECK(calls_of(deltas({R"("tool_calls": [{"id": "a", "function": {"name": "f"}}])",
                         R"("tool_calls": [{"id": "b", "function": {"name": "f"}}])",
                         R"("tool_calls": [{"id": "a", "function": {"arguments": "1"}}])",
                         R"("tool_calls": [{"function": {"arguments": "2"}}])"})) ==
        "a:f:1;b:f:2;");
}

TEST_CASE("chat: another id and name at a known index is another call") {
  CHECK(
      calls_of(deltas(
          {R"("tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}])",
           R"("tool_calls": [{"index": 0, "id": "b", "function": {"name": "f", "arguments": "2"}}])",
           R"("tool_calls": [{"index": 0, "function": {"arguments": "3"}}])"})) == "a:f:1;b:f:23;");
}

TEST_CASE("chat: a name that every piece repeats is one name") {
  CHECK(
      calls_of(deltas(
          {R"("tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}])",
           R"("tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "2"}}])"})) ==
      "a:f:12;");
}

TEST_CASE("chat: the end is DONE or a finish reason") {
  CHECK(streamed({R"({"choices": [{"delta": {}, "finish_reason": "stop"}]})"}).complete);
  CHECK(streamed({R"({"choices": [{"delta": {"content": "a"}}]})", "[DONE]"}).complete);
  CHECK(
      !streamed({R"({"choices": [{"delta": {"content": "a"}, "finish_reason": null}]})"}).complete);
  CHECK(!streamed({R"({"choices": []})"}).complete);
}

TEST_CASE("chat: early OpenAI tells the finish in its details") {
  CHECK(plain(R"({"choices": [{"message": {}, "finish_details": {"type": "max_tokens"}}]})")
            .finish_reason_raw == "max_tokens");
}

TEST_CASE("chat: usage comes with the answer, its last chunk, a choice, or x_groq") {
  const auto input = [](const Answer& answer) { return answer.usage->input_tokens.value(); };
  CHECK(input(plain(R"({"choices": [], "usage": {"prompt_tokens": 3}})")) == 3);
  CHECK(input(streamed({R"({"choices": [], "usage": {"prompt_tokens": 1}})",
                        R"({"choices": [], "usage": {"prompt_tokens": 3}})"})) == 3);
  CHECK(input(streamed({R"({"choices": [{"delta": {}, "usage": {"prompt_tokens": 3}}]})"})) == 3);
  CHECK(input(streamed({R"({"choices": [], "x_groq": {"usage": {"prompt_tokens": 3}}})"})) == 3);
  CHECK(!plain(R"({"choices": [], "usage": null})").usage);
}

TEST_CASE("chat: the first model that is named stays") {
  CHECK(streamed({R"({"model": "", "choices": []})", R"({"model": "m", "choices": []})",
                  R"({"model": "n", "choices": []})"})
            .model == "m");
}

TEST_CASE("chat: errors are found beside the choices, in a choice, and in an event of that name") {
  CHECK(!plain(R"({"error": {"message": "no"}})").error_body.empty());
  CHECK(!plain(R"({"choices": [{"error": {"message": "no"}}]})").error_body.empty());
  CHECK(!streamed({R"({"choices": [{"delta": {}, "error": {"code": 502}}]})"}).error_body.empty());
  StreamParser parser(chat_completions());
  parser.feed("event: error\ndata: {\"message\": \"no\"}\n\n");
  CHECK(!parser.finish().error_body.empty());
  CHECK(plain(R"({"choices": [], "error": null})").error_body.empty());
}

TEST_CASE("chat: a choice without a message is complete") {
  const Answer answer = plain(R"({"choices": [{"finish_reason": "content_filter"}]})");
  CHECK(answer.complete);
  CHECK(answer.finish_reason_raw == "content_filter");
}

TEST_CASE("chat: members of a wrong type are passed over") {
  for (const char* body :
       {R"({"choices": 5})", R"({"choices": [5]})", R"({"choices": [null]})",
        R"({"choices": [{"message": 5}]})", R"({"choices": [{"message": {"tool_calls": 5}}]})",
        R"({"choices": [{"message": {"tool_calls": [5, null, []], "function_call": 5}}]})",
        R"({"choices": [{"message": {"content": {"a": 1}}}], "usage": [], "model": 5})"}) {
    CAPTURE(body);
    const Answer answer = plain(body);
    CHECK(answer.content.empty());
    CHECK(answer.tool_calls.empty());
  }
}

TEST_CASE("completions: the text is the content, streamed or not") {
  CHECK(completions()
            .parse_response(R"({"choices": [{"text": "a", "finish_reason": "stop"}]})")
            .content == "a");
  StreamParser parser(completions());
  CHECK(parser.feed("data: {\"choices\": [{\"text\": \"a\"}]}\n\n") == "a");
}

TEST_CASE("an error that is not wrapped is an error, in a body and in a stream") {
  constexpr std::string_view kBare =
      R"({"object": "error", "message": "maximum context length", "type": "BadRequestError", "code": 400})";

  CHECK(plain(kBare).error_body == kBare);
  CHECK(streamed({kBare, "[DONE]"}).error_body == kBare);
}

TEST_CASE("calls stand in the order of their indices, whichever came first") {
  const Answer answer = deltas(
      {R"("tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "2"}}])",
       R"("tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}])"});

  CHECK(calls_of(answer) == "a:f:1;b:g:2;");
}

TEST_CASE("calls with neither index nor id are told apart by their names") {
  const Answer answer =
      deltas({R"("tool_calls": [{"function": {"name": "f", "arguments": "{}"}}])",
              R"("tool_calls": [{"function": {"name": "g", "arguments": "{\"a\":"}}])",
              R"("tool_calls": [{"function": {"arguments": "1}"}}])"});

  CHECK(calls_of(answer) == ":f:{};:g:{\"a\":1};");
}

TEST_CASE("choices that are none, and a marker alone, are no answer") {
  CHECK(!plain(R"({"choices": "x"})").complete);
  CHECK(!plain(R"({"choices": [5]})").complete);
  CHECK(!plain(R"({"choices": [{"message": 5}]})").complete);
  CHECK(!streamed({"[DONE]"}).complete);
}
