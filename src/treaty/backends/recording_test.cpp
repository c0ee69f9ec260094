#include "treaty/backends/recording.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/testing/transcripts.h"

using namespace treaty;
using namespace treaty::backends;

namespace {

// The members of a transcript's expectation, out of the result.
std::string told(const contracts::AgentResult& result) {
  std::string text = *result.finish_reason;
  if (result.error) {
    return text + fmt::format(" {} {} {}", *result.error->code, *result.error->retryable,
                              result.error->status_code.value_or(0));
  }
  text += " " + result.content.value_or("");
  if (result.usage) {
    text += fmt::format(" {}+{} {}/{}", *result.usage->input_tokens, *result.usage->output_tokens,
                        result.usage->cache_read_tokens.value_or(0),
                        result.usage->cache_write_tokens.value_or(0));
  }
  if (!result.tool_calls) return text;
  for (const auto& call : *result.tool_calls) {
    text += fmt::format(" {}:{}:{}", call.id, call.name, call.arguments);
  }
  return text;
}

std::string expected(const std::string& expect) {
  const json::Document document(expect);
  const auto root = document.root();
  std::string text(json::find_text(root, "finish_reason"));
  if (const auto error = json::find_member(root, "error")) {
    const auto status = json::find_member(error, "status_code");
    return text + fmt::format(" {} {} {}", json::find_text(error, "code"),
                              json::find_member(error, "retryable")->boolean(),
                              status ? *status->integer() : 0);
  }
  text += fmt::format(" {}", json::find_text(root, "content"));
  if (const auto usage = json::find_member(root, "usage")) {
    std::vector<std::int64_t> counts;
    for (const json::Value count : usage->elements()) counts.push_back(*count.integer());
    counts.resize(4);
    text += fmt::format(" {}+{} {}/{}", counts[0], counts[1], counts[2], counts[3]);
  }
  const auto calls = json::find_member(root, "tool_calls");
  if (!calls) return text;
  for (const json::Value call : calls->elements()) {
    text += fmt::format(" {}:{}:{}", json::find_text(call, "id"), json::find_text(call, "name"),
                        json::find_text(call, "arguments"));
  }
  return text;
}

std::string fault_of(std::string_view text) {
  const auto recording = read_recording(text);
  return recording ? "" : recording.error().message;
}

const Protocol* protocol_of(const std::string& path) {
  return read_recording(R"({"request": {"path": ")" + path + R"("}, "response": {}})")->protocol;
}

}  // namespace

TEST_CASE("every transcript gives the result that it states") {
  for (const auto& transcript : testing::read_transcripts()) {
    CAPTURE(transcript.name);
    CHECK(told(normalize(transcript.recording)) == expected(transcript.expect));
  }
}

TEST_CASE("a recording holds what was sent and what came back") {
  const auto recording = read_recording(R"({
    "id": "a", "provider": "openai", "endpoint": "chat_completions",
    "request": {"method": "POST", "path": "/v1/x", "body": {"model": "m"}},
    "response": {"status": 503, "headers": {"Via": ["a", "b"], "Age": 5, "x": null}, "body": "no"}})");

  REQUIRE(recording);
  CHECK(recording->id == "a");
  CHECK(recording->provider == "openai");
  CHECK(recording->protocol == &chat_completions());
  CHECK(recording->request_body == R"({"model": "m"})");
  CHECK(recording->status == 503);
  CHECK(recording->headers == Headers{{"via", "a, b"}, {"age", "5"}});
  CHECK(recording->body == "no");
  CHECK(!recording->streamed);
}

TEST_CASE("a body may be text, JSON, an event stream, or its bytes in base64") {
  CHECK(read_recording(R"({"response": {"body": {"a": 1}}})")->body == R"({"a": 1})");
  CHECK(read_recording(R"({"response": {}})")->body.empty());
  const auto text = read_recording(R"({"response": {"body_sse_text": "data: a\n"}})");
  CHECK(text->body == "data: a\n");
  CHECK(text->streamed);
  const auto bytes = read_recording(R"({"response": {"body_sse_base64": "/wo="}})");
  CHECK(bytes->body == "\xff\n");
  CHECK(bytes->streamed);
}

TEST_CASE("the protocol is told by the endpoint, else by the path") {
  CHECK(read_recording(R"({"endpoint": "messages", "response": {}})")->protocol ==
        &anthropic_messages());
  CHECK(read_recording(R"({"endpoint": "generate_content", "response": {}})")->protocol ==
        &gemini());
  CHECK(protocol_of("/v1/chat/completions?x=1") == &chat_completions());
  CHECK(protocol_of("/v1/completions") == &completions());
  CHECK(protocol_of("/openai/responses?api-version=1") == &responses());
  CHECK(protocol_of("/v1/messages") == &anthropic_messages());
  CHECK(protocol_of("/v1beta/models/x:streamGenerateContent?alt=sse") == &gemini());
  CHECK(protocol_of("/api/chat") == &ollama_native());
  CHECK(protocol_of("/api/generate") == &ollama_native());
  CHECK(protocol_of("/v1/embeddings") == nullptr);
}

TEST_CASE("what is no recording is refused with a reason") {
  CHECK(fault_of("").contains("not JSON"));
  CHECK(fault_of("{").contains("not JSON"));
  CHECK(fault_of("[]").contains("no object `response`"));
  CHECK(fault_of("{}").contains("no object `response`"));
  CHECK(fault_of(R"({"response": 5})").contains("no object `response`"));
  for (const char* status : {"0", "99", "600", "\"200\"", "2e2", "1e999", "-200"}) {
    CAPTURE(status);
    CHECK(fault_of(fmt::format(R"({{"response": {{"status": {}}}}})", status))
              .contains("not an HTTP status"));
  }
  CHECK(fault_of(R"({"response": {"body_sse_base64": "*"}})").contains("not base64"));
}

TEST_CASE("a recording with very many headers is read, and their number is bounded") {
  std::string headers;
  for (int i = 0; i < 200'000; ++i) headers += fmt::format("\"h{}\":\"\",", i);
  headers.pop_back();

  const auto recording = read_recording(R"({"response": {"headers": {)" + headers + "}}}");

  REQUIRE(recording);
  CHECK(recording->headers.size() <= 1'000);
}

TEST_CASE("Groq's windows have Groq's names") {
  const auto recording = read_recording(R"({"provider": "groq", "endpoint": "chat_completions",
    "response": {"headers": {"x-ratelimit-limit-requests": "14400"}, "body": {"choices": []}}})");

  CHECK(normalize(*recording).rate_limit->windows.at(0).name == "requests_per_day");
}

TEST_CASE("a structured output is read where the recorded request asked for one") {
  const auto output_of = [](std::string_view request) {
    const auto recording = read_recording(fmt::format(
        R"({{"endpoint": "chat_completions", "request": {{"body": {}}}, "response": {{"status": 200,
            "headers": {{}}, "body": {{"choices": [{{"message": {{"content": "{{\"a\": 1}}"}}}}]}}}}}})",
        request));
    REQUIRE(recording);
    return normalize(*recording).output;
  };

  CHECK(output_of(R"({"response_format": {"type": "json_schema"}})") == json::ObjectText{{"a", 1}});
  CHECK(!output_of(R"({"response_format": {"type": "text"}})"));
}
