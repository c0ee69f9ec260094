#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"

namespace treaty::backends {
namespace {

struct Asked {
  std::string_view provider;
  std::string_view model;
  std::string_view protocol{};  // Empty: the provider's own.
};

const Protocol& protocol_of(const Asked& asked) {
  const Provider& provider = *find_provider(asked.provider);
  return asked.protocol.empty() ? *provider.protocol : *provider.find_protocol(asked.protocol);
}

std::string refusal(const Asked& asked, const Reasoning& reasoning, bool has_tools = false) {
  return refusal_of(*find_provider(asked.provider), protocol_of(asked), asked.model, reasoning,
                    has_tools);
}

// "effort" as the protocol writes it for the provider's model; empty: nothing is said of it.
std::string written(const Asked& asked, const Reasoning& reasoning, bool shows = false) {
  Call call{.model = std::string(asked.model),
            .messages = {UserMessage{{TextPart{"Hi."}}}},
            .temperature = 0.5,
            .reasoning = reasoning,
            .shows_thinking = shows,
            .caches = false};
  return protocol_of(asked).render_request(call, find_provider(asked.provider)->style);
}

constexpr Reasoning kLow = {.effort = Effort::low};
constexpr Reasoning kMinimal = {.effort = Effort::minimal};
constexpr Reasoning kMedium = {.effort = Effort::medium};
constexpr Reasoning kHigh = {.effort = Effort::high};
constexpr Reasoning kBudget = {.budget_tokens = 4'096};

}  // namespace

TEST_CASE("Chat Completions is told an effort in each provider's words") {
  constexpr std::string_view kEffort = R"("reasoning_effort":"high")";
  for (const std::string_view provider : {"openai", "cerebras", "groq", "mistral", "azure", "xai",
                                          "together", "huggingface", "vllm", "custom"}) {
    CAPTURE(provider);
    CHECK(written({provider, "m"}, kHigh).contains(kEffort));
    CHECK(refusal({provider, "m"}, kHigh).empty());
    CHECK(refusal({provider, "m"}, kBudget) ==
          fmt::format("{} takes no budget_tokens; use effort", provider));
  }
  CHECK(written({"deepseek", "deepseek-v4-pro"}, kHigh)
            .contains(R"("thinking":{"type":"enabled"},"reasoning_effort":"high")"));
  CHECK(written({"openrouter", "m"}, kHigh).contains(R"("reasoning":{"effort":"high"})"));
  CHECK(written({"openrouter", "m"}, kBudget).contains(R"("reasoning":{"max_tokens":4096})"));
  CHECK(written({"ollama", "gpt-oss"}, kHigh).contains(R"("think":"high")"));
  CHECK(!written({"openai", "gpt-5"}, {}).contains("reasoning"));
}

TEST_CASE("Responses is told an effort, asked for a summary, and for what only it can read") {
  CHECK(written({"openai", "gpt-5", "responses"}, kLow, true)
            .contains(R"("reasoning":{"effort":"low","summary":"auto"},)"
                      R"("include":["reasoning.encrypted_content"])"));
  CHECK(written({"openai", "gpt-5", "responses"}, {}, true)
            .contains(R"("reasoning":{"summary":"auto"})"));
  CHECK(written({"azure", "my-deployment", "responses"}, kLow).contains("encrypted_content"));
  CHECK(!written({"azure", "my-deployment", "responses"}, {}, true).contains("reasoning"));
  CHECK(!written({"openai", "gpt-4o", "responses"}, {}, true).contains("reasoning"));
  CHECK(!written({"groq", "openai/gpt-oss-120b", "responses"}, kLow).contains("include"));
}

TEST_CASE("Older Claudes think within a budget, which comes on top of the answer") {
  const std::string request = written({"anthropic", "claude-haiku-4-5"}, kBudget);

  CHECK(
      request.contains(R"("max_tokens":12288,"thinking":{"type":"enabled","budget_tokens":4096})"));
  CHECK(!request.contains("temperature"));
  CHECK(written({"anthropic", "claude-haiku-4-5"}, {}).contains("temperature"));
  CHECK(refusal({"anthropic", "claude-haiku-4-5"}, kBudget).empty());
  CHECK(refusal({"anthropic", "claude-haiku-4-5"}, kLow) ==
        "claude-haiku-4-5 takes no effort; use budget_tokens");
  CHECK(refusal({"anthropic", "claude-haiku-4-5"}, {.budget_tokens = 1'023}) ==
        "Anthropic takes budget_tokens of 1024 or more");
  CHECK(refusal({"anthropic", "claude-3-5-haiku-20241022"}, kBudget).contains("does not reason"));
}

TEST_CASE("max_tokens exceeds the budget, and what is given beyond it is not changed") {
  Call call{.model = "claude-haiku-4-5",
            .messages = {UserMessage{{TextPart{"Hi."}}}},
            .max_output_tokens = 5'000,
            .reasoning = kBudget};
  CHECK(render_anthropic_messages(call, {}).contains(R"("max_tokens":5000)"));
  call.max_output_tokens = 1'000;
  CHECK(render_anthropic_messages(call, {}).contains(R"("max_tokens":5096)"));
}

TEST_CASE("Newer Claudes think as they see fit, at an effort") {
  const Asked newest{"anthropic", "claude-opus-4-7"};

  CHECK(written(newest, kLow).contains(R"("thinking":{"type":"adaptive"})"));
  CHECK(written(newest, kLow).contains(R"("output_config":{"effort":"low"})"));
  CHECK(written(newest, kLow, true)
            .contains(R"("thinking":{"type":"adaptive","display":"summarized"})"));
  CHECK(refusal(newest, kBudget) == "claude-opus-4-7 takes no budget_tokens; use effort");
  CHECK(refusal(newest, kMinimal) == "Anthropic knows no effort minimal; use low");
  CHECK(refusal({"anthropic", "claude-opus-4-6"}, kBudget).empty());
  CHECK(refusal({"anthropic", "claude-opus-4-6"}, kLow).empty());
}

TEST_CASE("A round that another provider began is not asked to think within a budget") {
  Call call{.model = "claude-haiku-4-5",
            .messages = {UserMessage{{TextPart{"Hi."}}},
                         AssistantMessage{.tool_calls = {{"a", "f", "{}"}}},
                         ToolMessage{.tool_call_id = "a", .tool_name = "f", .content = "1"}},
            .reasoning = kBudget,
            .author = "me"};
  CHECK(!render_anthropic_messages(call, {}).contains("budget_tokens"));
  call.model = "claude-opus-4-6";
  CHECK(render_anthropic_messages(call, {}).contains(R"("thinking":{"type":"adaptive"})"));
  call.messages.push_back(UserMessage{{TextPart{"Go on."}}});
  call.messages.push_back(AssistantMessage{.text = "Well."});
  call.messages.push_back(UserMessage{{TextPart{"And?"}}});
  CHECK(render_anthropic_messages(call, {}).contains("budget_tokens"));
}

TEST_CASE("Gemini has a budget before its third generation and a level from it on") {
  CHECK(written({"gemini", "gemini-2.5-flash"}, kBudget, true)
            .contains(R"("thinkingConfig":{"thinkingBudget":4096,"includeThoughts":true})"));
  CHECK(written({"gemini", "gemini-3-flash"}, kLow)
            .contains(R"("thinkingConfig":{"thinkingLevel":"low"})"));
  CHECK(!written({"gemini", "gemini-2.0-flash"}, {}, true).contains("thinkingConfig"));
  CHECK(refusal({"gemini", "gemini-2.5-flash"}, kLow) ==
        "gemini-2.5-flash takes no effort; use budget_tokens");
  CHECK(refusal({"gemini", "gemini-3-flash"}, kBudget).contains("use effort"));
  CHECK(refusal({"gemini", "gemini-3-flash"}, kMinimal).empty());
  CHECK(refusal({"gemini", "gemini-3.1-pro"}, kMinimal).contains("use low"));
  CHECK(refusal({"gemini", "gemini-3-pro-preview"}, kMedium).contains("low or high"));
  CHECK(refusal({"gemini", "gemini-3.1-pro"}, kMedium).empty());
  CHECK(refusal({"gemini", "gemini-2.0-flash"}, kBudget).contains("does not reason"));
}

TEST_CASE(
    "A model that a provider is known to refuse an effort for is refused before it is asked") {
  CHECK(refusal({"openai", "gpt-4o"}, kLow) ==
        "the model gpt-4o does not reason; leave reasoning out");
  CHECK(refusal({"openai", "o4-mini"}, kMinimal).contains("use low"));
  CHECK(refusal({"openai", "gpt-5-mini"}, kMinimal).empty());
  CHECK(refusal({"xai", "grok-4"}, kLow).contains("leave reasoning out"));
  CHECK(refusal({"xai", "grok-4-fast"}, kLow).contains("leave reasoning out"));
  CHECK(refusal({"xai", "grok-4.3"}, kLow).empty());
  CHECK(refusal({"xai", "grok-3-mini"}, kMedium).contains("low or high"));
  CHECK(refusal({"mistral", "magistral-medium-2509"}, kHigh).contains("leave reasoning out"));
  CHECK(refusal({"mistral", "mistral-small-latest"}, kLow).contains("use high"));
  CHECK(refusal({"groq", "llama-3.3-70b-versatile"}, kLow).contains("does not reason"));
  CHECK(refusal({"cerebras", "gpt-oss-120b"}, kMinimal).contains("use low"));
  CHECK(refusal({"deepseek", "deepseek-v4-pro"}, kMinimal).empty());  // It reads it as low.
  CHECK(refusal({"openai", "gpt-3.5-turbo-instruct", "completions"}, kLow).contains("completions"));
}

TEST_CASE("Models of Meta do not reason, whoever serves them") {
  for (const auto& [provider, model] :
       {std::pair{"groq", "meta-llama/llama-4-scout-17b-16e-instruct"},
        {"together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
        {"huggingface", "meta-llama/Llama-3.3-70B-Instruct"},
        {"cerebras", "llama3.1-8b"}}) {
    CAPTURE(provider);
    CHECK(refusal({provider, model}, kLow).contains("does not reason"));
  }
  CHECK(refusal({"groq", "deepseek-r1-distill-llama-70b"}, kLow).empty());
  CHECK(refusal({"together", "openai/gpt-oss-120b"}, kLow).empty());
  CHECK(refusal({"vllm", "llama"}, kLow).empty());
}

TEST_CASE("OpenAI's newest models take no effort together with tools over Chat Completions") {
  CHECK(refusal({"openai", "gpt-5.4"}, kLow, true).contains("use the protocol responses"));
  CHECK(refusal({"openai", "gpt-5.4"}, kLow).empty());
  CHECK(refusal({"openai", "gpt-5.4", "responses"}, kLow, true).empty());
  CHECK(refusal({"openai", "gpt-5"}, kLow, true).empty());
}

TEST_CASE("Nothing asked for is nothing refused, and two measures at once are one too many") {
  for (const Provider& provider : all_providers()) {
    CHECK(refusal_of(provider, *provider.protocol, "gpt-4o", {}).empty());
  }
  const Reasoning both{.effort = Effort::low, .budget_tokens = 2'048};
  CHECK(refusal({"openrouter", "m"}, both).contains("not both"));
  CHECK(refusal({"gemini", "gemini-3-flash"}, both).contains("not both"));
  CHECK(refusal({"openrouter", "m"}, {.budget_tokens = -1}).contains("0 or more"));
}

TEST_CASE("A budget that a Claude cannot write is refused, with what it can") {
  const auto refused = [](std::string_view model, std::int64_t budget) {
    return refusal({"anthropic", model}, {.budget_tokens = budget});
  };
  CHECK(refused("claude-sonnet-4-5", 64'000) ==
        "claude-sonnet-4-5 writes at most 64000 tokens, thinking included; use budget_tokens below "
        "that");
  CHECK(refused("claude-sonnet-4-5", 63'999).empty());
  CHECK(refused("claude-opus-4-1", 32'000).contains("at most 32000"));
  CHECK(refused("claude-sonnet-4-6", 100'000).empty());
  CHECK(refused("house-alias", 500'000).empty());
}

TEST_CASE("Thoughts of earlier turns go back where the provider wants them") {
  const auto wanted = [](const Asked& asked) {
    return wants_earlier_thoughts(*find_provider(asked.provider), protocol_of(asked), asked.model);
  };
  CHECK(wanted({"anthropic", ""}));
  CHECK(wanted({"gemini", ""}));
  CHECK(wanted({"deepseek", ""}));
  CHECK(wanted({"xai", ""}));
  CHECK(wanted({"openrouter", ""}));
  CHECK(wanted({"custom", "", "anthropic_messages"}));
  CHECK(!wanted({"custom", ""}));
  CHECK(!wanted({"openai", "", "responses"}));
  CHECK(!wanted({"openai", "gpt-5.4", "responses"}));
  CHECK(wanted({"openai", "gpt-5.6", "responses"}));
  CHECK(wanted({"azure", "gpt-5.6-luna", "responses"}));
  CHECK(!wanted({"azure", "gpt-5.6-luna"}));
}

TEST_CASE("Thoughts are kept for those who take them back") {
  const auto takes = [](const Asked& asked) {
    return takes_thoughts(*find_provider(asked.provider), protocol_of(asked));
  };
  CHECK(takes({"anthropic", ""}));
  CHECK(takes({"deepseek", ""}));
  CHECK(takes({"openai", "", "responses"}));
  CHECK(takes({"custom", "", "gemini"}));
  CHECK(takes({"ollama", ""}));
  CHECK(!takes({"together", ""}));
  CHECK(!takes({"huggingface", ""}));
  CHECK(takes({"huggingface", "", "responses"}));
  CHECK(!takes({"vllm", "", "completions"}));
}

TEST_CASE("A message of the assistant is continued where the provider is known to") {
  const auto prefill = [](const Asked& asked, std::optional<Reasoning> reasoning = {}) {
    return prefill_of(*find_provider(asked.provider), protocol_of(asked),
                      {.model = std::string(asked.model), .reasoning = reasoning});
  };
  CHECK(prefill({"anthropic", "claude-sonnet-4-5"}) == Prefill::by_place);
  CHECK(prefill({"anthropic", "claude-sonnet-4-5"}, kBudget) == Prefill::none);
  CHECK(prefill({"anthropic", "claude-opus-4-6"}) == Prefill::none);
  CHECK(prefill({"mistral", "m"}) == Prefill::prefix_member);
  CHECK(prefill({"deepseek", "m", "responses"}) == Prefill::none);
  CHECK(prefill({"vllm", "m"}) == Prefill::continue_final_message);
  CHECK(prefill({"ollama", "m"}) == Prefill::by_place);
  CHECK(prefill({"openai", "m"}) == Prefill::none);
}

}  // namespace treaty::backends
