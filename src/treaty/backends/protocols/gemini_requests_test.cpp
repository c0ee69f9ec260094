#include <doctest/doctest.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {

TEST_CASE("gemini: the path names the model and whether to stream") {
  CHECK(path_of_gemini({.model = "gemini-2.5-flash"}) ==
        "/models/gemini-2.5-flash:generateContent");
  CHECK(path_of_gemini({.model = "gemini-2.5-flash", .stream = true}) ==
        "/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  CHECK(path_of_gemini({.model = "models/x"}) == "/models/x:generateContent");
  CHECK(path_of_gemini({.model = "a b?c#\n"}) == "/models/a%20b%3Fc%23%0A:generateContent");
}

TEST_CASE("gemini: a conversation is contents of user and model") {
  CHECK(render_gemini(testing::conversation(), {}) ==
        R"({"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[)"
        R"({"role":"user","parts":[{"text":"What is it?"},)"
        R"({"inlineData":{"mimeType":"image/png","data":"iVBOR="}}]},)"
        R"({"role":"model","parts":[{"text":"Let me look. "},)"
        R"({"functionCall":{"name":"look_up","args":{"word":"cat"}}},)"
        R"({"functionCall":{"name":"look_up","args":{"text":"dog"}}}]},)"
        R"({"role":"user","parts":[{"functionResponse":{"name":"look_up","response":{"found":3}}},)"
        R"({"functionResponse":{"name":"look_up","response":{"error":"no such word"}}},)"
        R"({"text":"Well?"}]}],)"
        R"("tools":[{"functionDeclarations":[{"name":"look_up","description":"Finds a word.",)"
        R"("parametersJsonSchema":{"type":"object","properties":{"word":{"type":"string"}}}}]}]})");
}

TEST_CASE("gemini: results are known by the name of the tool, and texts are wrapped") {
  const Call call{.model = "gemini-3-pro",
                  .messages = {AssistantMessage{.tool_calls = {{"a", "f", "{}"}, {"b", "g", ""}}},
                               ToolMessage{.tool_call_id = "b", .tool_name = "", .content = "2"}}};

  CHECK(
      render_gemini(call, {}) ==
      R"({"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},)"
      R"("thoughtSignature":"skip_thought_signature_validator"},)"
      R"({"functionCall":{"name":"g","args":{}}}]},)"
      R"({"role":"user","parts":[{"functionResponse":{"name":"g","response":{"output":"2"}}}]}]})");
}

TEST_CASE("gemini: settings and structured output are its generationConfig") {
  Call call = testing::simple_call();
  call.max_output_tokens = 9;
  call.temperature = 0.25;
  call.stop = {"END"};
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};

  CHECK(render_gemini(call, {}) ==
        R"({"contents":[{"role":"user","parts":[{"text":"Say \"hi\"."}]}],)"
        R"("generationConfig":{"maxOutputTokens":9,"temperature":0.25,"stopSequences":["END"],)"
        R"("responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}})");
}

TEST_CASE("gemini: a call without a signature has the stand-in for an alias, too") {
  const auto asked = [](std::string model) {
    return render_gemini({.model = std::move(model),
                          .messages = {AssistantMessage{.tool_calls = {{"a", "f", "{}"}}}}},
                         {});
  };
  for (const char* model : {"gemini-flash-latest", "models/gemini-pro-latest", "gemini-3-flash"}) {
    CAPTURE(model);
    CHECK(asked(model).contains("skip_thought_signature_validator"));
  }
  for (const char* model : {"gemini-2.5-flash", "gemma-3", "house-alias"}) {
    CAPTURE(model);
    CHECK(!asked(model).contains("thoughtSignature"));
  }
}

TEST_CASE("gemini: a signature that does not fit the text any more is on all of it") {
  const auto asked = [](std::string json) {
    AssistantMessage said{.text = "hé", .thoughts = {.author = "me"}};
    said.thoughts.parts = {{.text = 3, .json = std::move(json)}};
    return render_gemini({.model = "m", .messages = {said}, .author = "me"}, {});
  };
  const std::string_view whole = R"("parts":[{"text":"hé","thoughtSignature":"s"}])";

  CHECK(asked(R"({"thoughtSignature":"s"})").contains(whole));
  CHECK(asked(R"({"signed_bytes":9,"thoughtSignature":"s"})").contains(whole));
  CHECK(asked(R"({"signed_bytes":-1,"thoughtSignature":"s"})").contains(whole));
  CHECK(asked(R"({"signed_bytes":1,"thoughtSignature":"s"})")
            .contains(R"([{"text":"h"},{"text":"é","thoughtSignature":"s"}])"));
}

TEST_CASE("gemini: with tools, models before generation 3 get the schema in the prompt") {
  constexpr std::string_view kWords = "fits this JSON Schema, and nothing else";
  const auto asked = [](std::string model, bool has_tools) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.output = OutputSchema{.schema_json = R"({"type":"object"})"};
    if (has_tools) call.tools = {{.name = "look"}};
    return render_gemini(call, {});
  };
  for (const char* model : {"gemini-2.5-flash", "gemini-flash-latest"}) {
    CHECK(asked(model, true).contains(kWords));
    CHECK(!asked(model, true).contains("responseMimeType"));
    CHECK(!asked(model, false).contains(kWords));
    CHECK(asked(model, false).contains("responseJsonSchema"));
  }
  CHECK(!asked("gemini-3-pro-preview", true).contains(kWords));
  CHECK(asked("gemini-3-pro-preview", true).contains("responseJsonSchema"));
}

}  // namespace treaty::backends
