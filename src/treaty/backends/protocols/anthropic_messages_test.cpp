#include <doctest/doctest.h>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/stream_parser.h"

using namespace treaty;
using namespace treaty::backends;
using results::Answer;

namespace {

Answer plain(std::string_view body) { return anthropic_messages().parse_response(body); }

Answer streamed(std::initializer_list<std::string_view> events) {
  StreamParser parser(anthropic_messages());
  for (const std::string_view data : events) parser.feed(http::event_bytes("", data));
  return parser.finish();
}

}  // namespace

TEST_CASE("messages: text blocks are the content; thinking and the provider's tools are not") {
  const Answer answer = plain(R"({"content": [{"type": "thinking", "thinking": "x"},
    {"type": "text", "text": "a"}, {"type": "server_tool_use", "id": "s", "name": "web_search"},
    {"type": "text", "text": "b"}, {"type": "tool_use", "id": "t", "name": "f",
     "input": {"x": "é", "y": [1, 2]}}], "stop_reason": "tool_use"})");

  CHECK(answer.content == "ab");
  REQUIRE(answer.tool_calls.size() == 1);
  CHECK(answer.tool_calls[0] == contracts::AgentToolCall{"t", "f", "{\"x\":\"é\",\"y\":[1,2]}"});
}

TEST_CASE("messages: an answer needs content or a stop reason") {
  CHECK(plain(R"({"content": []})").complete);
  CHECK(plain(R"({"stop_reason": "end_turn"})").complete);
  CHECK(!plain(R"({"id": "msg_1"})").complete);
  CHECK(!plain("5").complete);
}

TEST_CASE("messages: an error in the place of an answer is that error") {
  CHECK(!plain(R"({"type": "error", "error": {"type": "api_error"}})").error_body.empty());
}

TEST_CASE("messages: a stop reason alone does not end a stream") {
  constexpr std::string_view kReason =
      R"({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})";
  CHECK(!streamed({kReason}).complete);
  CHECK(streamed({kReason, R"({"type": "message_stop"})"}).complete);
  CHECK(streamed({kReason, R"({"type": "message_stop"})"}).finish_reason_raw == "end_turn");
}

TEST_CASE("messages: a tool's input may stand whole in its first event") {
  const Answer answer = streamed({R"({"type": "content_block_start", "index": 0, "content_block":
    {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}})"});
  CHECK(answer.tool_calls.at(0).arguments == R"({"x":1})");
}

TEST_CASE("messages: deltas of blocks that are no calls of ours go nowhere") {
  const Answer answer = streamed(
      {R"({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}})",
       R"({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "x"}})",
       R"({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "x"}})",
       R"({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}})"});
  CHECK(answer.tool_calls.at(0).arguments.empty());
  CHECK(answer.content.empty());
}

TEST_CASE("messages: pings and events that nobody knows are passed over") {
  CHECK(streamed({R"({"type": "ping"})", R"({"type": "new_thing", "x": [1]})",
                  R"({"type": "message_stop"})"})
            .complete);
}
