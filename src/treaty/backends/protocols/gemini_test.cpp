#include <doctest/doctest.h>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/stream_parser.h"

using namespace treaty;
using namespace treaty::backends;
using results::Answer;

namespace {

Answer plain(std::string_view body) { return gemini().parse_response(body); }

Answer streamed(std::string_view data) {
  StreamParser parser(gemini());
  parser.feed(http::event_bytes("", data));
  return parser.finish();
}

}  // namespace

TEST_CASE("gemini: parts of the candidate with index 0 are the content, thoughts are not") {
  CHECK(plain(R"({"candidates": [{"index": 1, "content": {"parts": [{"text": "x"}]}},
    {"index": 0, "content": {"parts": [{"text": "t", "thought": true}, {"text": "a"},
     {"text": "b", "thought": false}]}, "finishReason": "STOP"}]})")
            .content == "ab");
}

TEST_CASE("gemini: a call has the text of its arguments, and {} without any") {
  const Answer answer = plain(R"({"candidates": [{"content": {"parts": [
    {"functionCall": {"name": "f", "args": {"a": 1}}}, {"functionCall": {"id": "i", "name": "g"}}]}}]})");

  REQUIRE(answer.tool_calls.size() == 2);
  CHECK(answer.tool_calls[0] == contracts::AgentToolCall{"", "f", R"({"a":1})"});
  CHECK(answer.tool_calls[1] == contracts::AgentToolCall{"i", "g", "{}"});
}

TEST_CASE("gemini: a plain answer is complete, a stream only with a reason") {
  constexpr std::string_view kPart = R"({"candidates": [{"content": {"parts": [{"text": "a"}]}}]})";
  CHECK(plain(kPart).complete);
  CHECK(!streamed(kPart).complete);
  CHECK(streamed(R"({"candidates": [{"finishReason": "MAX_TOKENS"}]})").complete);
  CHECK(!streamed(R"({"candidates": [{"finishReason": "FINISH_REASON_UNSPECIFIED"}]})").complete);
}

TEST_CASE("gemini: a blocked prompt ends the answer") {
  const Answer answer = streamed(R"({"promptFeedback": {"blockReason": "SAFETY"}})");
  CHECK(answer.complete);
  CHECK(answer.prompt_blocked);
  CHECK(answer.finish_reason_raw == "SAFETY");
  CHECK(!streamed(R"({"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}})").complete);
}

TEST_CASE("gemini: a stream that was kept as a list is read like a stream") {
  const Answer whole = plain(R"([{"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"}]}])");
  CHECK(whole.content == "ab");
  CHECK(whole.complete);
  CHECK(!plain(R"([{"candidates": [{"content": {"parts": [{"text": "a"}]}}]}])").complete);
  CHECK(!plain("[]").complete);
  CHECK(!plain("[5, null]").complete);
}

TEST_CASE("gemini: an error inside is that error") {
  CHECK(streamed(R"({"error": {"code": 503}})").error_body == R"({"error": {"code": 503}})");
  CHECK(!plain(R"([{"error": {"code": 503}}])").error_body.empty());
}

TEST_CASE("gemini: the last usage counts, and the version is the model") {
  const Answer answer = plain(R"([{"modelVersion": "g", "usageMetadata": {"promptTokenCount": 1}},
                {"modelVersion": "h", "usageMetadata": {"promptTokenCount": 2}}])");
  CHECK(answer.usage->input_tokens == 2);
  CHECK(answer.model == "g");
}
