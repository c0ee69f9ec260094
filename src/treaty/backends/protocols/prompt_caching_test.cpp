// What providers are told of prompts that are worth keeping.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/json.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {
namespace {

constexpr std::string_view kMark = R"(,"cache_control":{"type":"ephemeral"})";

std::size_t marks_in(std::string_view request) {
  std::size_t count = 0;
  for (std::size_t at = request.find(kMark); at != std::string_view::npos;
       at = request.find(kMark, at + 1)) {
    ++count;
  }
  return count;
}

std::string without_marks(std::string request) {
  for (std::size_t at = request.find(kMark); at != std::string::npos; at = request.find(kMark)) {
    request.erase(at, kMark.size());
  }
  return request;
}

// The blocks of all messages, in their order.
std::vector<std::string> blocks_in(const std::string& request) {
  const json::Document document(request);
  std::vector<std::string> blocks;
  for (const json::Value message :
       json::elements_of(json::find_member(document.root(), "messages"))) {
    for (const json::Value block : json::elements_of(json::find_member(message, "content"))) {
      blocks.emplace_back(block.source());
    }
  }
  return blocks;
}

bool is_marked(std::string_view block) { return block.contains(kMark); }

// A turn's first question, with history behind it.
Call question() {
  return {.model = "claude-opus-4-6",
          .system = "Be brief.",
          .messages = {UserMessage{{TextPart{"One?"}}}, AssistantMessage{.text = "Two."},
                       UserMessage{{TextPart{"Three?"}}}},
          .tools = {{.name = "a"}, {.name = "b"}},
          .reasoning = Reasoning{.effort = Effort::low},
          .author = "me"};
}

void answer_with_tools(Call& call, std::string_view id, std::size_t calls = 1) {
  AssistantMessage answer{
      .thoughts = {.author = "me",
                   .parts = {{.json = R"({"type":"thinking","thinking":"t","signature":"s"})"}}}};
  for (std::size_t i = 0; i < calls; ++i) {
    answer.tool_calls.push_back({fmt::format("{}_{}", id, i), "a", "{}"});
  }
  call.messages.push_back(answer);
  for (const auto& made : answer.tool_calls) {
    call.messages.push_back(ToolMessage{.tool_call_id = made.id, .tool_name = "a", .content = "1"});
  }
}

// The places of the marked blocks of all messages.
std::set<std::size_t> marked_places(const std::string& request) {
  const auto blocks = blocks_in(request);
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (is_marked(blocks[i])) places.insert(i);
  }
  return places;
}

}  // namespace

TEST_CASE("Anthropic: system, the history before the turn, the last request's end and the end") {
  Call call = question();
  answer_with_tools(call, "t1");
  answer_with_tools(call, "t2");
  const std::string request = render_anthropic_messages(call, {});

  CHECK(request.contains(
      R"("system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}])"));
  CHECK(request.contains(R"({"name":"b","input_schema":{"type":"object","properties":{}}}])"));
  // One? Two. Three? thought, call, result, thought, call, result.
  CHECK((marked_places(request) == std::set<std::size_t>{1, 5, 8}));
  CHECK(marks_in(request) == 4);
}

TEST_CASE("Anthropic: tools are marked while there are marks left") {
  Call call = question();
  answer_with_tools(call, "t1");
  call.system = " ";
  const std::string request = render_anthropic_messages(call, {});

  CHECK(request.contains(R"({"name":"b","input_schema":{"type":"object","properties":{}},)"
                         R"("cache_control":{"type":"ephemeral"}}])"));
  CHECK(marks_in(request) == 4);
}

TEST_CASE("Anthropic: where a request ended is marked in the next one, however many the calls") {
  Call call = question();
  std::size_t end = blocks_in(render_anthropic_messages(call, {})).size();
  for (const char* id : {"t1", "t2", "t3"}) {
    answer_with_tools(call, id, 12);
    const std::string request = render_anthropic_messages(call, {});
    CHECK(marked_places(request).contains(end - 1));
    CHECK(marks_in(request) == 4);
    end = blocks_in(request).size();
  }
  call.messages.push_back(AssistantMessage{.text = "Done."});
  call.messages.push_back(UserMessage{{TextPart{"And?"}}});
  CHECK(marked_places(render_anthropic_messages(call, {})).contains(end - 1));
}

TEST_CASE("Anthropic: without caching a request has no marks and is else the same text") {
  Call call = question();
  call.caches = false;
  const std::string request = render_anthropic_messages(call, {});

  CHECK(marks_in(request) == 0);
  CHECK(request.contains(R"("system":"Be brief.")"));
}

TEST_CASE("Anthropic: each round begins with the bytes of the one before") {
  Call call = question();
  const std::string first = render_anthropic_messages(call, {});
  answer_with_tools(call, "t1");
  const std::string second = render_anthropic_messages(call, {});
  answer_with_tools(call, "t2");
  const std::string third = render_anthropic_messages(call, {});

  const auto prefix = [](const std::string& request) {
    const std::string plain = without_marks(request);
    return plain.substr(0, plain.find(R"(],"tools")") - 2);
  };
  CHECK(without_marks(second).starts_with(prefix(first)));
  CHECK(without_marks(third).starts_with(prefix(second)));
}

TEST_CASE("Anthropic: whatever the call, at most four marks") {
  CHECK(rc::check([] {
    Call call = *testing::any_call();
    call.caches = true;
    RC_ASSERT(marks_in(render_anthropic_messages(call, {})) <= 4U);
  }));
}

TEST_CASE("Keys of prompts tell nothing of the conversation and are the same in all its rounds") {
  Call call = testing::simple_call();
  call.conversation = "acme/session-7";
  const std::string key = prompt_cache_key(call);

  CHECK(key.size() == 32);
  CHECK(!key.contains("acme"));
  call.messages.push_back(AssistantMessage{.text = "Hi."});
  CHECK(prompt_cache_key(call) == key);
  call.conversation = "acme/session-8";
  CHECK(prompt_cache_key(call) != key);
  call.caches = false;
  CHECK(prompt_cache_key(call).empty());
  call = testing::simple_call();
  CHECK(prompt_cache_key(call).empty());
}

TEST_CASE("Keys go where a provider is known to take them") {
  Call call = testing::simple_call();
  call.conversation = "c";
  const auto has_key = [&](std::string_view provider, const Protocol& protocol) {
    return protocol.render_request(call, find_provider(provider)->style)
        .contains(R"("prompt_cache_key":")");
  };
  CHECK(has_key("openai", chat_completions()));
  CHECK(has_key("openai", responses()));
  CHECK(has_key("mistral", chat_completions()));
  CHECK(has_key("azure", responses()));
  CHECK(has_key("xai", responses()));
  for (const std::string_view provider : {"azure", "xai", "groq", "cerebras", "openrouter",
                                          "deepseek", "custom", "vllm", "huggingface"}) {
    CAPTURE(provider);
    CHECK(!has_key(provider, chat_completions()));
  }
  CHECK(!has_key("gemini", gemini()));
}

TEST_CASE("xAI hears of the conversation in a header of Chat Completions") {
  Call call = testing::simple_call();
  call.conversation = "c";
  const Provider& xai = *find_provider("xai");

  CHECK(headers_of(xai, chat_completions(), "k", call).get("x-grok-conv-id") ==
        prompt_cache_key(call));
  CHECK(headers_of(xai, responses(), "k", call).get("x-grok-conv-id").empty());
  call.caches = false;
  CHECK(headers_of(xai, chat_completions(), "k", call).get("x-grok-conv-id").empty());
}

TEST_CASE("OpenRouter is asked to keep the prompts of Anthropic's models") {
  Call call = testing::simple_call();
  const auto asks = [&](std::string_view provider, std::string model, const Protocol& protocol) {
    call.model = std::move(model);
    return protocol.render_request(call, find_provider(provider)->style)
        .contains(R"("cache_control":{"type":"ephemeral"})");
  };
  CHECK(asks("openrouter", "anthropic/claude-opus-5.5", chat_completions()));
  CHECK(asks("openrouter", "anthropic/claude-opus-5.5", responses()));
  CHECK(!asks("openrouter", "openai/gpt-5-mini", chat_completions()));
  CHECK(!asks("custom", "anthropic/claude-opus-5.5", chat_completions()));
  call.caches = false;
  CHECK(!asks("openrouter", "anthropic/claude-opus-5.5", chat_completions()));
}

TEST_CASE("A message of the assistant at the end is continued as the provider wants it") {
  Call call = testing::simple_call();
  call.messages.push_back(AssistantMessage{.text = "Well"});
  const auto chat = [&](Prefill prefill) {
    return render_chat_completions(call, {.prefill = prefill});
  };

  CHECK(chat(Prefill::prefix_member).contains(R"("content":"Well","prefix":true})"));
  CHECK(chat(Prefill::continue_final_message)
            .contains(R"("continue_final_message":true,"add_generation_prompt":false)"));
  CHECK(chat(Prefill::by_place) == chat(Prefill::none));
  call.messages.push_back(UserMessage{{TextPart{"And?"}}});
  CHECK(chat(Prefill::prefix_member) == chat(Prefill::none));
  call.messages.push_back(AssistantMessage{.text = "So", .tool_calls = {{"a", "f", "{}"}}});
  CHECK(chat(Prefill::prefix_member) == chat(Prefill::none));
  CHECK(chat(Prefill::continue_final_message) == chat(Prefill::none));
}

TEST_CASE("DeepSeek continues messages in its beta only") {
  const Provider& deepseek = *find_provider("deepseek");
  const auto nothing = [](std::string_view) { return std::nullopt; };
  Call call = testing::simple_call();
  const auto target = [&](std::string_view given) {
    const std::string base = base_url_of(deepseek, given, nothing);
    return address_of(deepseek, base, chat_completions(), call)->target;
  };

  CHECK(target("") == "/chat/completions");
  CHECK(target("https://gateway.example/v1") == "/v1/chat/completions");
  CHECK(target("https://api.deepseek.com/v1") == "/v1/chat/completions");
  call.messages.push_back(AssistantMessage{.text = "Well"});
  CHECK(target("") == "/beta/chat/completions");
  CHECK(target("https://api.deepseek.com/v1") == "/beta/chat/completions");
  CHECK(target("https://api.deepseek.com/beta") == "/beta/chat/completions");
}

}  // namespace treaty::backends
