#include <doctest/doctest.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {

TEST_CASE("ollama: a conversation has images beside texts and arguments as objects") {
  CHECK(
      render_ollama(testing::conversation(), {}) ==
      R"({"model":"small-1","messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":"What is it?","images":["iVBOR="]},)"
      R"({"role":"assistant","content":"Let me look. ","tool_calls":[)"
      R"({"function":{"name":"look_up","arguments":{"word":"cat"}}},)"
      R"({"function":{"name":"look_up","arguments":{"text":"dog"}}}]},)"
      R"({"role":"tool","content":"{\"found\": 3}","tool_name":"look_up"},)"
      R"({"role":"tool","content":"Error: the tool call failed: no such word","tool_name":"look_up"},)"
      R"({"role":"user","content":"Well?"}],)"
      R"("tools":[{"type":"function","function":{"name":"look_up","description":"Finds a word.",)"
      R"("parameters":{"type":"object","properties":{"word":{"type":"string"}}}}}],)"
      R"("stream":false})");
  CHECK(ollama_native().path({}) == "/api/chat");
}

TEST_CASE("ollama: settings are options, and the schema is the format") {
  Call call = testing::simple_call();
  call.max_output_tokens = 9;
  call.temperature = 0.25;
  call.stop = {"END"};
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};
  call.stream = true;

  CHECK(render_ollama(call, {}) ==
        R"({"model":"small-1","messages":[{"role":"user","content":"Say \"hi\"."}],)"
        R"("format":{"type":"object"},)"
        R"("options":{"num_predict":9,"temperature":0.25,"stop":["END"]},"stream":true})");
}

}  // namespace treaty::backends
