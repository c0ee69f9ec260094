#include <doctest/doctest.h>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/stream_parser.h"

using namespace treaty;
using namespace treaty::backends;
using results::Answer;

namespace {

Answer plain(std::string_view body) { return ollama_native().parse_response(body); }

}  // namespace

TEST_CASE("ollama: done ends the answer, and counts come with it") {
  const Answer answer = plain(R"({"model": "m", "message": {"content": "a"}, "done": true,
    "done_reason": "length", "prompt_eval_count": 3, "eval_count": 4})");
  CHECK(answer.complete);
  CHECK(answer.content == "a");
  CHECK(answer.finish_reason_raw == "length");
  CHECK(answer.usage->total_tokens == 7);
  CHECK(answer.model == "m");
}

TEST_CASE("ollama: without done the answer is not complete") {
  CHECK(!plain(R"({"message": {"content": "a"}})").complete);
  CHECK(!plain(R"({"message": {"content": "a"}, "done": false})").complete);
  CHECK(!plain(R"({"done": "true"})").complete);
  CHECK(!plain("").complete);
}

TEST_CASE("ollama: generate has its text beside the message") {
  CHECK(plain(R"({"response": "a", "done": true})").content == "a");
}

TEST_CASE("ollama: tool calls have arguments as text") {
  const Answer answer = plain(R"({"message": {"tool_calls": [{"function": {"name": "f",
    "arguments": {"a": 1}}}, {"function": {"name": "g"}}]}, "done": true})");
  REQUIRE(answer.tool_calls.size() == 2);
  CHECK(answer.tool_calls[0].arguments == R"({"a":1})");
  CHECK(answer.tool_calls[1].arguments == "{}");
}

TEST_CASE("ollama: what follows done is not looked at, in a stream and in a kept text") {
  constexpr std::string_view kLines =
      "{\"message\":{\"content\":\"a\"},\"done\":true}\n{\"message\":{\"content\":\"b\"}}\n?\n";
  StreamParser parser(ollama_native());
  parser.feed(kLines);

  CHECK(plain(kLines).content == "a");
  CHECK(plain(kLines).complete);
  CHECK(parser.finish().content == "a");
}

TEST_CASE("ollama: an error is a line of its own") {
  CHECK(!plain("{\"message\":{\"content\":\"a\"}}\n{\"error\":\"no\"}\n").error_body.empty());
}
