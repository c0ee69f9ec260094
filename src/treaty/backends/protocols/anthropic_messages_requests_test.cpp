#include <doctest/doctest.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {

TEST_CASE("messages: max_tokens is always there") {
  Call call = testing::simple_call();
  call.caches = false;

  CHECK(render_anthropic_messages(call, {}) ==
        R"({"model":"small-1","max_tokens":8192,"messages":[)"
        R"({"role":"user","content":[{"type":"text","text":"Say \"hi\"."}]}]})");
  call.max_output_tokens = 7;
  CHECK(render_anthropic_messages(call, {}).starts_with(R"({"model":"small-1","max_tokens":7,)"));
  CHECK(anthropic_messages().path(call) == "/messages");
}

TEST_CASE("messages: results of tools and what the user says next are one message") {
  Call call = testing::conversation();
  call.caches = false;
  const std::string body = render_anthropic_messages(call, {});

  CHECK(
      body ==
      R"({"model":"small-1","max_tokens":8192,"system":"Be brief.","messages":[)"
      R"({"role":"user","content":[{"type":"text","text":"What is it?"},)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBOR="}}]},)"
      R"({"role":"assistant","content":[{"type":"text","text":"Let me look."},)"
      R"({"type":"tool_use","id":"call_1","name":"look_up","input":{"word":"cat"}},)"
      R"({"type":"tool_use","id":"call2bf9fb854b2b5","name":"look_up","input":{"text":"dog"}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"{\"found\": 3}"},)"
      R"({"type":"tool_result","tool_use_id":"call2bf9fb854b2b5","content":"no such word","is_error":true},)"
      R"({"type":"text","text":"Well?"}]}],)"
      R"("tools":[{"name":"look_up","description":"Finds a word.",)"
      R"("input_schema":{"type":"object","properties":{"word":{"type":"string"}}}}]})");
}

TEST_CASE("messages: texts of white space are left out, and a tool may give nothing back") {
  const Call call{.model = "m",
                  .system = " ",
                  .messages = {UserMessage{{TextPart{""}, TextPart{"Go."}, TextPart{" \n"}}},
                               AssistantMessage{.tool_calls = {{"a", "f", ""}}},
                               ToolMessage{.tool_call_id = "a", .tool_name = "f", .content = ""}},
                  .tools = {{.name = "f"}},
                  .caches = false};

  CHECK(render_anthropic_messages(call, {}) ==
        R"({"model":"m","max_tokens":8192,"messages":[)"
        R"({"role":"user","content":[{"type":"text","text":"Go."}]},)"
        R"({"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}],)"
        R"("tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]})");
}

TEST_CASE("messages: a schema that the model cannot be held to is asked for in words") {
  const auto rendered = [](std::string model, bool is_strict) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.output = OutputSchema{.schema_json = R"({"type":"object"})", .strict = is_strict};
    call.caches = false;
    return render_anthropic_messages(call, {});
  };
  const std::string_view words =
      R"(fits this JSON Schema, and nothing else:\n{\"type\":\"object\"})";

  CHECK(rendered("claude-sonnet-4-5", true).contains("output_config"));
  CHECK(!rendered("claude-sonnet-4-5", true).contains(words));
  for (const std::string& request :
       {rendered("claude-sonnet-4-5", false), rendered("claude-3-5-haiku-latest", true)}) {
    CHECK(!request.contains("output_config"));
    CHECK(request.contains(words));
  }
}

TEST_CASE("messages: structured output, settings and streams") {
  Call call = testing::simple_call();
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};
  call.temperature = 0;
  call.stop = {"END"};
  call.stream = true;
  call.caches = false;

  CHECK(render_anthropic_messages(call, {}) ==
        R"({"model":"small-1","max_tokens":8192,"temperature":0.0,"stop_sequences":["END"],)"
        R"("messages":[{"role":"user","content":[{"type":"text","text":"Say \"hi\"."}]}],)"
        R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},)"
        R"("stream":true})");
}

}  // namespace treaty::backends
