#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/protocols/stream_parser.h"

using namespace treaty;
using namespace treaty::backends;
using results::Answer;

namespace {

Answer plain(std::string_view body) { return responses().parse_response(body); }

Answer output(std::string_view items) {
  return plain(fmt::format(R"({{"status": "completed", "output": [{}]}})", items));
}

Answer streamed(std::initializer_list<std::string_view> events) {
  StreamParser parser(responses());
  for (const std::string_view data : events) parser.feed(http::event_bytes("", data));
  return parser.finish();
}

}  // namespace

TEST_CASE("responses: text parts of all messages are the content, reasoning is not") {
  CHECK(output(R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]},
                  {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
                  {"type": "message", "content": [{"type": "output_text", "text": "b"}]})")
            .content == "ab");
}

TEST_CASE("responses: a refusal is kept apart") {
  CHECK(
      output(R"({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]})").refusal ==
      "no");
}

TEST_CASE("responses: functions and custom tools are calls, what the provider runs is not") {
  const Answer answer = output(R"(
    {"type": "web_search_call", "id": "w", "name": "x"}, {"type": "mcp_call", "name": "x"},
    {"type": "function_call", "call_id": "a", "id": "fc", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "id": "b", "name": "g", "input": "SELECT 1"})");

  REQUIRE(answer.tool_calls.size() == 2);
  CHECK(answer.tool_calls[0] == contracts::AgentToolCall{"a", "f", "{}"});
  CHECK(answer.tool_calls[1] == contracts::AgentToolCall{"b", "g", "SELECT 1"});
}

TEST_CASE("responses: the status is the finish reason, unless details tell more") {
  CHECK(output("").finish_reason_raw == "completed");
  CHECK(plain(R"({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}})")
            .finish_reason_raw == "content_filter");
  CHECK(plain(R"({"status": "incomplete"})").finish_reason_raw == "incomplete");
  CHECK(plain(R"({"status": "cancelled"})").finish_reason_raw == "cancelled");
}

TEST_CASE("responses: one that is still at work is not complete") {
  CHECK(!plain(R"({"status": "queued", "output": []})").complete);
  CHECK(!plain(R"({"status": "in_progress", "output": []})").complete);
  CHECK(!plain("{}").complete);
  CHECK(!plain("[]").complete);
}

TEST_CASE("responses: a failed one is an error") {
  CHECK(!plain(R"({"status": "failed", "error": {"code": "server_error"}})").error_body.empty());
  CHECK(!plain(R"({"status": "failed", "error": null})").error_body.empty());
  CHECK(plain(R"({"status": "completed", "error": null})").error_body.empty());
}

TEST_CASE("responses: only the terminal events end a stream") {
  CHECK(!streamed({R"({"type": "response.output_text.done", "text": "a"})", "[DONE]"}).complete);
  for (const char* end : {"response.completed", "response.incomplete", "response.failed"}) {
    CAPTURE(end);
    CHECK(streamed({fmt::format(R"({{"type": "{}", "response": {{}}}})", end)}).complete);
  }
}

TEST_CASE("responses: the type may stand in the event's name alone") {
  StreamParser parser(responses());
  parser.feed("event: response.output_text.delta\ndata: {\"delta\": \"a\"}\n\n");
  parser.feed("event: response.completed\ndata: {\"response\": {\"status\": \"completed\"}}\n\n");
  const Answer answer = parser.finish();
  CHECK(answer.complete);
  CHECK(answer.content == "a");
}

TEST_CASE("responses: the last event's items go before those that were streamed") {
  CHECK(streamed({R"({"type": "response.output_text.delta", "delta": "wrong"})",
                  R"({"type": "response.completed", "response": {"status": "completed", "output": [
                      {"type": "message", "content": [{"type": "output_text", "text": "right"}]}]}})"})
            .content == "right");
}

TEST_CASE("responses: an error event ends a stream with that error") {
  CHECK(streamed({R"({"type": "error", "code": "server_error", "message": "no"})"}).error_body ==
        R"({"type": "error", "code": "server_error", "message": "no"})");
}

TEST_CASE("responses: what came whole stays when the last event leaves the items out") {
  const Answer answer = streamed(
      {R"({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}})",
       R"({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\":1}"}})",
       R"({"type": "response.output_text.done", "output_index": 0, "text": "Look:"})",
       R"({"type": "response.completed", "response": {"status": "completed", "output": []}})"});

  CHECK(answer.complete);
  CHECK(answer.content == "Look:");
  REQUIRE(answer.tool_calls.size() == 1);
  CHECK(answer.tool_calls[0].arguments == R"({"a":1})");
}

TEST_CASE("responses: a message's phase goes back with it, to its author only") {
  const std::string output =
      R"({"type":"reasoning","id":"rs","encrypted_content":"x"},)"
      R"({"type":"message","role":"assistant","phase":"commentary","content":)"
      R"([{"type":"output_text","text":"I look."}]},)"
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
      R"({"type":"message","role":"assistant","phase":"final_answer","content":)"
      R"([{"type":"output_text","text":"Done."}]})";
  const auto answer =
      responses().parse_response(fmt::format(R"({{"status":"completed","output":[{}]}})", output));
  Call call{.model = "gpt-5.4",
            .messages = {AssistantMessage{.text = answer.content,
                                          .tool_calls = answer.tool_calls,
                                          .thoughts = {.author = "me", .parts = answer.thoughts}}},
            .author = "me"};
  const std::string request = render_responses(call, {});
  CHECK(request.contains(
      R"("encrypted_content":"x"},{"role":"assistant","content":"I look.","phase":"commentary"},)"
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
      R"({"role":"assistant","content":"Done.","phase":"final_answer"}])"));
  const auto received = parse_request(responses(), request, {});
  REQUIRE(received);
  CHECK(render_responses(received->call, {}) == request);
  call.author = "you";
  CHECK(!render_responses(call, {}).contains("phase"));
}

TEST_CASE("responses: a phase is the same where a stream ends without its items") {
  StreamParser parser(responses());
  for (const char* event :
       {R"({"type":"response.output_item.added","item":{"type":"message","phase":"commentary"}})",
        R"({"type":"response.output_text.delta","delta":"Hm."})",
        R"({"type":"response.output_item.done","item":{"type":"message","phase":"commentary",)"
        R"("content":[{"type":"output_text","text":"Hm."}]}})",
        R"({"type":"response.completed","response":{"status":"completed","output":[]}})"}) {
    parser.feed(http::event_bytes("", event));
  }
  const auto answer = parser.finish();
  CHECK(answer.content == "Hm.");
  REQUIRE(answer.thoughts.size() == 1);
  CHECK(answer.thoughts[0].json == R"({"type":"message","phase":"commentary"})");
  CHECK(answer.thoughts[0].text == 0);
}
