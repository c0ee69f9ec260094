#include "treaty/mock/prompt_cache.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/mock/played_provider.h"

namespace treaty::mock {
namespace {

using backends::AssistantMessage;
using backends::Call;
using backends::TextPart;
using backends::ToolMessage;
using backends::UserMessage;

Call question() {
  return {.model = "m",
          .system = std::string(400, 's'),
          .messages = {UserMessage{{TextPart{std::string(200, 'q')}}}},
          .tools = {{.name = "look"}}};
}

std::string body_of(const Call& call) { return backends::render_anthropic_messages(call, {}); }

void answer_with_tools(Call& call, int calls) {
  AssistantMessage answer;
  for (int i = 0; i < calls; ++i) answer.tool_calls.push_back({std::to_string(i), "look", "{}"});
  call.messages.push_back(answer);
  for (const auto& made : answer.tool_calls) {
    call.messages.push_back(ToolMessage{made.id, "look", std::string(100, 'r')});
  }
}

// Usage of an answer of the mock, read as a client reads it.
contracts::UsageInfo usage_of(PlayedProvider& provider, const Call& call) {
  http::Request request{.method = "POST", .target = "/v1/messages", .body = body_of(call)};
  const Plan plan = provider.answer(request, 1'800'000'000);
  return *backends::anthropic_messages().parse_response(plan.pieces.at(0).bytes).usage;
}

backends::Script script_of(std::string_view yaml) { return *backends::read_script(yaml); }

TEST_CASE("What a request marks is written the first time and read the second") {
  PromptCache cache;
  const CachedPart first = cache.account(body_of(question()));
  const CachedPart second = cache.account(body_of(question()));

  CHECK(first.read == 0);
  CHECK(first.written > 150);
  CHECK(second.read == first.written);
  CHECK(second.written == 0);
}

TEST_CASE("A second round reads what the first one wrote, and writes what it adds") {
  PromptCache cache;
  Call call = question();
  const CachedPart first = cache.account(body_of(call));
  answer_with_tools(call, 2);
  const CachedPart second = cache.account(body_of(call));
  answer_with_tools(call, 1);
  const CachedPart third = cache.account(body_of(call));

  CHECK(second.read == first.written);
  CHECK(second.written > 0);
  CHECK(third.read == second.read + second.written);
}

TEST_CASE("A round of many calls reads all of the round before it") {
  PromptCache cache;
  Call call = question();
  call.messages.push_back(AssistantMessage{.text = "Well."});
  call.messages.push_back(UserMessage{{TextPart{"More."}}});
  CachedPart before = cache.account(body_of(call));
  for (const int calls : {12, 20, 1}) {
    answer_with_tools(call, calls);
    const CachedPart now = cache.account(body_of(call));
    CHECK(now.read == before.read + before.written);
    CHECK(now.written > 0);
    before = now;
  }
}

TEST_CASE("What is kept is found at a mark and at the nineteen blocks before it") {
  const auto body = [](std::size_t blocks, std::size_t mark) {
    std::string content;
    for (std::size_t i = 0; i < blocks; ++i) {
      content += fmt::format(R"({}{{"type":"text","text":"block {}"{}}})", i == 0 ? "" : ",", i,
                             i == mark ? R"(,"cache_control":{"type":"ephemeral"})" : "");
    }
    return R"({"messages":[{"role":"user","content":[)" + content + "]}]}";
  };
  PromptCache cache;
  cache.account(body(40, 10));

  CHECK(cache.account(body(40, 29)).read > 0);
  PromptCache other;
  other.account(body(40, 10));
  CHECK(other.account(body(40, 30)).read == 0);
}

TEST_CASE("Another beginning is not in the cache, however the rest is") {
  PromptCache cache;
  cache.account(body_of(question()));
  Call call = question();
  call.tools[0].description = "Looks.";

  CHECK(cache.account(body_of(call)).read == 0);
}

TEST_CASE("Without marks, or without JSON, nothing is kept") {
  PromptCache cache;
  Call call = question();
  call.caches = false;
  for (const std::string& body : {body_of(call), std::string("nonsense"), std::string()}) {
    CHECK(cache.account(body).written == 0);
    CHECK(cache.account(body).read == 0);
  }
}

TEST_CASE("The memory of prompts is bounded: the oldest are forgotten") {
  PromptCache cache(6);
  cache.account(body_of(question()));
  for (int i = 0; i < 10; ++i) {
    Call other = question();
    other.system += std::to_string(i);
    other.tools.clear();
    cache.account(body_of(other));
  }

  CHECK(cache.account(body_of(question())).read == 0);
}

TEST_CASE("The mock tells tokens from the cache unless the script tells the usage") {
  PlayedProvider provider(script_of("- Hello."), 1);
  const auto first = usage_of(provider, question());
  const auto second = usage_of(provider, question());

  CHECK(first.cache_write_tokens.value() > 150);
  CHECK(first.cache_read_tokens == 0);
  CHECK(second.cache_read_tokens == first.cache_write_tokens);
  CHECK(second.input_tokens == first.input_tokens);

  PlayedProvider fixed(script_of("- {text: Hello., usage: {input_tokens: 9, output_tokens: 1}}"),
                       1);
  CHECK(usage_of(fixed, question()).cache_write_tokens == 0);
}

TEST_CASE("A request that the mock answers with an error is not kept") {
  PlayedProvider provider(script_of("[{error: 529}, Hello.]"), 1);
  provider.answer({.method = "POST", .target = "/v1/messages", .body = body_of(question())}, 1);

  CHECK(usage_of(provider, question()).cache_read_tokens == 0);
}

TEST_CASE("The mock thinks in the words of every wire") {
  const auto answer_of = [](const char* target, std::string body) {
    PlayedProvider provider(script_of("- {thinking: Hm. Well., text: Hello.}"), 1);
    const Plan plan =
        provider.answer({.method = "POST", .target = target, .body = std::move(body)}, 1);
    const auto* protocol = backends::find_protocol_of_path(target);
    return protocol->parse_response(plan.pieces.at(0).bytes);
  };
  const Call call{.model = "m", .messages = {UserMessage{{TextPart{"Hi."}}}}};
  for (const auto& [target, body] :
       {std::pair{"/v1/chat/completions", backends::render_chat_completions(call, {})},
        {"/v1/responses", backends::render_responses(call, {})},
        {"/v1/messages", backends::render_anthropic_messages(call, {})},
        {"/v1beta/models/m:generateContent", backends::render_gemini(call, {})},
        {"/api/chat", backends::render_ollama(call, {})}}) {
    CAPTURE(target);
    const results::Answer answer = answer_of(target, body);
    CHECK(answer.thinking == "Hm. Well.");
    CHECK(answer.content == "Hello.");
    CHECK(answer.thoughts.size() == 1);
  }
}

}  // namespace
}  // namespace treaty::mock
