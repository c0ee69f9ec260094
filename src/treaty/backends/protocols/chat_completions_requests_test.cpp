#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {

TEST_CASE("chat completions: a plain question is a model and one message") {
  const Call call = testing::simple_call();

  CHECK(render_chat_completions(call, {}) ==
        R"({"model":"small-1","messages":[{"role":"user","content":"Say \"hi\"."}]})");
  CHECK(chat_completions().path(call) == "/chat/completions");
}

TEST_CASE("chat completions: a conversation keeps images, calls, results and tools") {
  const Call call = testing::conversation();

  CHECK(
      render_chat_completions(call, {}) ==
      R"({"model":"small-1","messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":[{"type":"text","text":"What is it?"},)"
      R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBOR="}}]},)"
      R"({"role":"assistant","content":"Let me look. ","tool_calls":[)"
      R"({"id":"call_1","type":"function","function":{"name":"look_up","arguments":"{\"word\": \"cat\"}"}},)"
      R"({"id":"call.2","type":"function","function":{"name":"look_up","arguments":"dog"}}]},)"
      R"({"role":"tool","tool_call_id":"call_1","content":"{\"found\": 3}"},)"
      R"({"role":"tool","tool_call_id":"call.2","content":"Error: the tool call failed: no such word"},)"
      R"({"role":"user","content":"Well?"}],)"
      R"("tools":[{"type":"function","function":{"name":"look_up","description":"Finds a word.",)"
      R"("parameters":{"type":"object","properties":{"word":{"type":"string"}}}}}]})");
}

TEST_CASE("chat completions: settings and streams go by the provider's style") {
  Call call = testing::simple_call();
  call.max_output_tokens = 50;
  call.temperature = 0.5;
  call.stop = {"END"};
  call.stream = true;

  CHECK(
      render_chat_completions(
          call, {.max_tokens_name = "max_completion_tokens", .model_in_body = false}) ==
      R"({"messages":[{"role":"user","content":"Say \"hi\"."}],"max_completion_tokens":50,)"
      R"("temperature":0.5,"stop":["END"],"stream":true,"stream_options":{"include_usage":true}})");
  CHECK(render_chat_completions(call, {.stream_usage = false}).ends_with(R"("stream":true})"));
}

TEST_CASE(
    "chat completions: structured output is a strict schema, or JSON with the schema in words") {
  Call call = testing::simple_call();
  call.output = OutputSchema{.name = "answer", .schema_json = R"({"type": "object"})"};

  CHECK(render_chat_completions(call, {}).ends_with(
      R"("response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,)"
      R"("schema":{"type":"object"}}}})"));
  CHECK(
      render_chat_completions(call, {.schema = SchemaStyle::json_object, .developer_role = true}) ==
      R"({"model":"small-1","messages":[{"role":"developer","content":"Answer with one JSON object )"
      R"(that fits this JSON Schema, and nothing else:\n{\"type\":\"object\"}"},)"
      R"({"role":"user","content":"Say \"hi\"."}],"response_format":{"type":"json_object"}})");
}

TEST_CASE("chat completions: Groq is sent a format where its API takes one, and words elsewhere") {
  const RequestStyle& groq = find_provider("groq")->style;
  Call call = testing::simple_call();
  call.output = OutputSchema{.name = "answer", .schema_json = R"({"type": "object"})"};
  const auto asked = [&](std::string_view model) {
    call.model = model;
    return render_chat_completions(call, groq);
  };
  constexpr std::string_view kWords = "fits this JSON Schema, and nothing else";
  constexpr std::string_view kModels[] = {"llama-3.3-70b-versatile", "openai/gpt-oss-120b"};

  CHECK(asked("llama-3.3-70b-versatile").contains(kWords));
  CHECK(asked("llama-3.3-70b-versatile").ends_with(R"("response_format":{"type":"json_object"}})"));
  CHECK(asked("openai/gpt-oss-120b").contains(R"("strict":true)"));
  CHECK(!asked("openai/gpt-oss-120b").contains(kWords));
  CHECK(asked("moonshotai/kimi-k2-instruct-0905").contains(R"("strict":false)"));
  call.stream = true;
  for (const std::string_view model : kModels) {
    CHECK(asked(model).contains(kWords));
    CHECK(!asked(model).contains("response_format"));
  }
  call.stream = false;
  call.tools = {{.name = "look"}};
  for (const std::string_view model : kModels) {
    CHECK(asked(model).contains(kWords));
    CHECK(!asked(model).contains("response_format"));
  }
}

TEST_CASE("chat completions: with tools, Cerebras gets the schema in the prompt") {
  const RequestStyle& cerebras = find_provider("cerebras")->style;
  Call call = testing::simple_call();
  call.output = OutputSchema{.schema_json = R"({"type":"object"})"};
  CHECK(render_chat_completions(call, cerebras).contains("json_schema"));
  call.tools = {{.name = "look"}};
  CHECK(!render_chat_completions(call, cerebras).contains("response_format"));
  CHECK(render_chat_completions(call, cerebras).contains("fits this JSON Schema"));
  CHECK(render_chat_completions(call, {}).contains("json_schema"));
}

TEST_CASE("OpenAI's models that reason are not told how to draw words, by OpenAI and Azure only") {
  Call call = testing::simple_call();
  call.temperature = 0.5;
  call.sampling = {.top_p = 0.5, .frequency_penalty = 1, .presence_penalty = 1, .seed = 7};
  call.max_output_tokens = 9;
  const auto asked = [&](std::string_view provider, std::string_view model,
                         const Protocol& protocol = chat_completions()) {
    call.model = model;
    return protocol.render_request(call, find_provider(provider)->style);
  };
  const auto has_sampling = [](std::string_view request) {
    return request.contains("temperature") || request.contains("top_p") ||
           request.contains("penalty");
  };

  for (const std::string_view model : {"gpt-5-mini", "o4-mini", "gpt-5.4"}) {
    CAPTURE(model);
    CHECK(!has_sampling(asked("openai", model)));
    CHECK(!has_sampling(asked("azure", model)));
    CHECK(!has_sampling(asked("openai", model, responses())));
    CHECK(asked("openai", model).contains(R"("max_completion_tokens":9,"seed":7)"));
    CHECK(has_sampling(asked("openrouter", model)));
  }
  CHECK(has_sampling(asked("openai", "gpt-4o")));
  CHECK(has_sampling(asked("openai", "gpt-4o", responses())));
  CHECK(has_sampling(asked("azure", "my-deployment")));
  CHECK(has_sampling(asked("groq", "openai/gpt-oss-120b")));
}

TEST_CASE("chat completions: an assistant that only calls tools has no content") {
  Call call{.model = "m", .messages = {AssistantMessage{.tool_calls = {{"a", "f", ""}}}}};

  CHECK(render_chat_completions(call, {}) ==
        R"({"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[)"
        R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]})");
}

TEST_CASE("chat completions: long ids of calls go back as they came, but for OpenAI's models") {
  const std::string id = "tool_get_current_weather_nNBvDVuJXrZZDwEjuOoj";
  const auto has_id = [&](std::string_view provider, std::string model) {
    Call call{.model = std::move(model),
              .messages = {AssistantMessage{.tool_calls = {{id, "f", ""}}},
                           ToolMessage{.tool_call_id = id, .tool_name = "f", .content = "1"}}};
    const std::string request = render_chat_completions(call, find_provider(provider)->style);
    const bool has_call = request.contains(fmt::format(R"("tool_calls":[{{"id":"{}")", id));
    CHECK(has_call == request.contains(fmt::format(R"("tool_call_id":"{}")", id)));
    return has_call;
  };
  CHECK(has_id("openrouter", "google/gemini-3-pro-preview"));
  CHECK(has_id("custom", "gemini-3-pro-preview"));
  CHECK(has_id("groq", "openai/gpt-oss-120b"));
  CHECK(!has_id("openai", "my-finetune"));
  CHECK(!has_id("azure", "my-deployment"));
  CHECK(!has_id("openrouter", "openai/gpt-4o"));
  CHECK(!has_id("openrouter", "openai/gpt-5-mini"));
}

TEST_CASE("chat completions: a call without an id gets one, whatever length ids may have") {
  const Call call{.model = "m", .messages = {AssistantMessage{.tool_calls = {{"", "f", ""}}}}};
  CHECK(!render_chat_completions(call, {}).contains(R"("id":"")"));
}

TEST_CASE("completions: the conversation becomes one prompt") {
  CHECK(render_completions(testing::conversation(), {}) ==
        R"({"model":"small-1","prompt":"Be brief.\n\nWhat is it?\n\nLet me look. \n\n)"
        R"({\"found\": 3}\n\nError: the tool call failed: no such word\n\nWell?"})");
  CHECK(completions().path({}) == "/completions");
}

}  // namespace treaty::backends
