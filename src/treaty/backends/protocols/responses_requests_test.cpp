#include <doctest/doctest.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {

TEST_CASE("responses: a conversation is instructions and items") {
  const Call call = testing::conversation();

  CHECK(
      render_responses(call, {}) ==
      R"({"model":"small-1","instructions":"Be brief.","input":[)"
      R"({"role":"user","content":[{"type":"input_text","text":"What is it?"},)"
      R"({"type":"input_image","image_url":"data:image/png;base64,iVBOR="}]},)"
      R"({"role":"assistant","content":"Let me look. "},)"
      R"({"type":"function_call","call_id":"call_1","name":"look_up","arguments":"{\"word\": \"cat\"}"},)"
      R"({"type":"function_call","call_id":"call.2","name":"look_up","arguments":"dog"},)"
      R"({"type":"function_call_output","call_id":"call_1","output":"{\"found\": 3}"},)"
      R"({"type":"function_call_output","call_id":"call.2","output":"Error: the tool call failed: no such word"},)"
      R"({"role":"user","content":[{"type":"input_text","text":"Well?"}]}],)"
      R"("tools":[{"type":"function","name":"look_up","description":"Finds a word.",)"
      R"("parameters":{"type":"object","properties":{"word":{"type":"string"}}},"strict":false}],)"
      R"("store":false})");
  CHECK(responses().path(call) == "/responses");
}

TEST_CASE("responses: settings have names of their own, and stop is not known") {
  Call call = testing::simple_call();
  call.max_output_tokens = 50;
  call.temperature = 1;
  call.stop = {"END"};
  call.stream = true;
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};

  CHECK(render_responses(call, {}).ends_with(
      R"("text":{"format":{"type":"json_schema","name":"output","strict":true,)"
      R"("schema":{"type":"object"}}},"max_output_tokens":50,"temperature":1.0,)"
      R"("store":false,"stream":true})"));
  CHECK(render_responses(call, {.schema = SchemaStyle::json_object})
            .find(R"("text":{"format":{"type":"json_object"}})") != std::string::npos);
  CHECK(render_responses(call, {.schema = SchemaStyle::json_object})
            .contains(R"("instructions":"Answer with one JSON object that fits this)"));
}

TEST_CASE("responses: Groq is sent a format where its API takes one, and words elsewhere") {
  const RequestStyle style{.schema = SchemaStyle::groq};
  Call call = testing::simple_call();
  call.model = "openai/gpt-oss-20b";
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};

  CHECK(render_responses(call, style).contains(R"("type":"json_schema")"));
  CHECK(!render_responses(call, style).contains("instructions"));
  call.stream = true;
  CHECK(!render_responses(call, style).contains(R"("text":{)"));
  CHECK(render_responses(call, style).contains("instructions"));
}

}  // namespace treaty::backends
