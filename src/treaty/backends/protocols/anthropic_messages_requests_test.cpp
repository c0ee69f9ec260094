#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {
namespace {

constexpr std::string_view kThinking = R"({"type":"thinking","thinking":"t","signature":"s"})";

// A turn of tools: one word for each round, `own` of the author with thoughts, `brief` of the
// author without, `other` of somebody else.
Call call_with_rounds(std::string model, std::initializer_list<std::string_view> rounds) {
  Call call{.model = std::move(model),
            .messages = {UserMessage{{TextPart{"Look."}}}},
            .reasoning = Reasoning{.budget_tokens = 2'048},
            .author = "me",
            .caches = false};
  for (const std::string_view round : rounds) {
    AssistantMessage answer{.tool_calls = {{"a", "f", "{}"}}};
    if (round != "brief") {
      answer.thoughts = {.author = round == "own" ? "me" : "else",
                         .parts = {{.json = std::string(kThinking)}}};
    }
    call.messages.push_back(answer);
    call.messages.push_back(ToolMessage{.tool_call_id = "a", .tool_name = "f", .content = "1"});
  }
  return call;
}

std::string rendered(const Call& call) { return render_anthropic_messages(call, {}); }

}  // namespace

TEST_CASE("messages: a turn that began with thoughts goes on thinking within its budget") {
  for (const auto& call : {call_with_rounds("claude-sonnet-4-5", {"own"}),
                           call_with_rounds("claude-sonnet-4-5", {"own", "brief"}),
                           call_with_rounds("claude-sonnet-4-5", {"own", "own", "brief"}),
                           call_with_rounds("claude-opus-4-6", {"own", "brief", "other"})}) {
    CHECK(rendered(call).contains(R"("thinking":{"type":"enabled","budget_tokens":2048})"));
    CHECK(rendered(call).contains(kThinking));
  }
}

TEST_CASE("messages: a turn that another provider began is not changed in its middle") {
  for (const auto& call : {call_with_rounds("claude-sonnet-4-5", {"other"}),
                           call_with_rounds("claude-sonnet-4-5", {"other", "brief"})}) {
    CHECK(!rendered(call).contains(R"("thinking")"));
  }
  for (const auto& call : {call_with_rounds("claude-opus-4-6", {"other", "brief"}),
                           call_with_rounds("claude-opus-4-6", {"other", "own"})}) {
    CHECK(rendered(call).contains(R"("thinking":{"type":"adaptive"})"));
  }
}

TEST_CASE("messages: the thoughts of a turn say nothing about the next one") {
  Call call = call_with_rounds("claude-sonnet-4-5", {"own"});
  call.messages.push_back(UserMessage{{TextPart{"Again."}}});
  call.messages.push_back(AssistantMessage{.tool_calls = {{"b", "f", "{}"}}});
  call.messages.push_back(ToolMessage{.tool_call_id = "b", .tool_name = "f", .content = "1"});

  CHECK(!rendered(call).contains(R"("budget_tokens")"));
}

TEST_CASE("messages: what a Claude thought goes back also where nothing says how much it thinks") {
  for (const char* model : {"claude-sonnet-4-5", "claude-opus-4-8", "house-alias"}) {
    CAPTURE(model);
    Call call = call_with_rounds(model, {"own", "own"});
    call.reasoning.reset();
    CHECK(rendered(call).contains(kThinking));
  }
}

TEST_CASE(
    "messages: Anthropic leaves out thoughts whose prompt has changed, where Claude binds them") {
  constexpr std::string_view kDrop = R"("block_binding":{"prefix_mismatch_behavior":"drop_block"})";
  const RequestStyle& anthropic = find_provider("anthropic")->style;
  const auto asked = [&](std::string model, const RequestStyle& style, std::string_view round) {
    Call call = call_with_rounds(std::move(model), {round});
    call.reasoning.reset();
    return render_anthropic_messages(call, style);
  };
  CHECK(asked("claude-opus-5-5", anthropic, "own")
            .contains(fmt::format(R"("thinking":{{"type":"adaptive",{}}})", kDrop)));
  CHECK(!asked("claude-opus-5-5", anthropic, "brief").contains("block_binding"));
  CHECK(!asked("claude-opus-5-5", anthropic, "other").contains("block_binding"));
  CHECK(!asked("claude-opus-5", anthropic, "own").contains("block_binding"));
  CHECK(!asked("anthropic/claude-opus-5.5", anthropic, "own").contains("block_binding"));
  CHECK(!asked("claude-opus-5-5", find_provider("custom")->style, "own").contains("block_binding"));
}

TEST_CASE("messages: thoughts that are bound leave the way a Claude thinks as it was asked for") {
  Call call = call_with_rounds("claude-fable-5-1", {"own"});
  call.reasoning = Reasoning{.effort = Effort::low};
  call.shows_thinking = true;
  const std::string request = render_anthropic_messages(call, find_provider("anthropic")->style);
  CHECK(
      request.contains(R"("thinking":{"type":"adaptive","display":"summarized","block_binding":)"));
  CHECK(request.contains(R"("output_config":{"effort":"low"})"));
}

TEST_CASE("messages: texts go back as they came; only the end of the request is trimmed") {
  Call call{.model = "claude-opus-5",
            .messages = {UserMessage{{TextPart{"Go. "}}}},
            .author = "me",
            .caches = false};
  call.messages.push_back(AssistantMessage{
      .text = "I look. \nNow.\n",
      .thoughts = {.author = "me", .parts = {{.text = 9, .json = std::string(kThinking)}}}});
  CHECK(rendered(call).contains(R"({"type":"text","text":"I look. \n"},)"));
  CHECK(rendered(call).contains(R"({"type":"text","text":"Now."}]}])"));
  call.messages.push_back(UserMessage{{TextPart{"And?"}}});
  CHECK(rendered(call).contains(R"({"type":"text","text":"Now.\n"}]},)"));
}

TEST_CASE("messages: newer Claudes are not told how to draw words") {
  const auto has_sampling = [](std::string model) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.temperature = 0.5;
    call.sampling = {.top_p = 0.5, .top_k = 5};
    const std::string request = rendered(call);
    CHECK(request.contains("top_p") == request.contains("temperature"));
    CHECK(request.contains("top_k") == request.contains("temperature"));
    return request.contains("temperature");
  };
  CHECK(has_sampling("claude-sonnet-4-5"));
  CHECK(has_sampling("claude-opus-4-6"));
  CHECK(has_sampling("house-alias"));
  CHECK(!has_sampling("claude-opus-4-7"));
  CHECK(!has_sampling("claude-sonnet-5"));
  CHECK(!has_sampling("claude-mythos-preview"));
}

TEST_CASE("messages: who thinks as much as it likes has room for that and for the answer") {
  const auto asked = [](std::string model, std::optional<Reasoning> reasoning) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.reasoning = reasoning;
    return rendered(call);
  };
  const Reasoning low{.effort = Effort::low};
  CHECK(asked("claude-opus-4-6", low).contains(R"("max_tokens":32000,)"));
  CHECK(asked("claude-opus-5", {}).contains(R"("max_tokens":32000,)"));
  CHECK(asked("claude-opus-4-6", {}).contains(R"("max_tokens":8192,)"));
  CHECK(asked("claude-3-haiku-20240307", {}).contains(R"("max_tokens":4096,)"));
  CHECK(asked("claude-opus-4-1", Reasoning{.budget_tokens = 30'000})
            .contains(R"("max_tokens":32000,)"));
  CHECK(asked("claude-sonnet-4-5", Reasoning{.budget_tokens = 30'000})
            .contains(R"("max_tokens":38192,)"));
}

TEST_CASE("messages: max_tokens is above the budget and not above what the model writes") {
  const auto asked = [](std::string model, std::int64_t most, std::int64_t budget) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.max_output_tokens = most;
    call.reasoning = Reasoning{.budget_tokens = budget};
    return rendered(call);
  };
  CHECK(asked("claude-sonnet-4-5", 20'000, 60'000).contains(R"("max_tokens":64000,)"));
  CHECK(asked("claude-sonnet-4-5", 100'000, 2'000).contains(R"("max_tokens":64000,)"));
  CHECK(asked("claude-sonnet-4-5", 3'000, 2'000).contains(R"("max_tokens":3000,)"));
  CHECK(asked("claude-sonnet-4-5", 2'000, 2'000).contains(R"("max_tokens":4000,)"));
  CHECK(asked("house-alias", 200'000, 2'000).contains(R"("max_tokens":200000,)"));
}

TEST_CASE("messages: models that think by themselves show it where the agent wants it shown") {
  const auto shown = [](std::string model) {
    Call call = testing::simple_call();
    call.model = std::move(model);
    call.shows_thinking = true;
    return rendered(call);
  };
  CHECK(
      shown("claude-opus-5").contains(R"("thinking":{"type":"adaptive","display":"summarized"})"));
  CHECK(!shown("claude-opus-4-8").contains("thinking"));  // It would begin to think.
  CHECK(!shown("house-alias").contains("thinking"));
}

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
      R"({"role":"assistant","content":[{"type":"text","text":"Let me look. "},)"
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
