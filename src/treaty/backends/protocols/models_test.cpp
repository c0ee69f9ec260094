#include "treaty/backends/protocols/models.h"

#include <doctest/doctest.h>

namespace treaty::backends {

TEST_CASE("The version of a Claude stands in its name, before or behind its family") {
  CHECK(claude_of("claude-opus-4-5-20251101").version == 405);
  CHECK(claude_of("claude-sonnet-4-20250514").version == 400);
  CHECK(claude_of("claude-3-7-sonnet-20250219").version == 307);
  CHECK(claude_of("claude-3-haiku-20240307").version == 300);
  CHECK(claude_of("anthropic/claude-opus-4.6").version == 406);
  CHECK(claude_of("us.anthropic.claude-opus-4-6-v1:0").version == 406);
  CHECK(claude_of("claude-opus-5").version == 500);
  CHECK(claude_of("claude-mythos-preview").version == 9999);
  CHECK(!claude_of("gpt-5").is_one());
  CHECK(!claude_of("").is_one());
}

TEST_CASE("Claudes take a budget, then both, then adaptive thinking only") {
  CHECK(!claude_of("claude-3-5-sonnet-20241022").takes_budget());
  CHECK(claude_of("claude-haiku-4-5").takes_budget());
  CHECK(!claude_of("claude-haiku-4-5").takes_effort());
  CHECK(claude_of("claude-opus-4-5").takes_effort());
  CHECK(!claude_of("claude-opus-4-5").takes_adaptive());
  CHECK(claude_of("claude-opus-4-6").takes_budget());
  CHECK(claude_of("claude-opus-4-6").takes_adaptive());
  CHECK(!claude_of("claude-opus-4-7").takes_budget());
  CHECK(claude_of("claude-sonnet-4-5").continues_answers());
  CHECK(!claude_of("claude-sonnet-4-6").continues_answers());
}

TEST_CASE("The longest answer of a Claude is known of those that take a budget") {
  CHECK(claude_of("claude-3-haiku-20240307").most_output_tokens() == 4'096);
  CHECK(claude_of("claude-3-5-haiku-latest").most_output_tokens() == 8'192);
  CHECK(claude_of("claude-opus-4-20250514").most_output_tokens() == 32'000);
  CHECK(claude_of("claude-opus-4-1").most_output_tokens() == 32'000);
  CHECK(claude_of("claude-sonnet-4-20250514").most_output_tokens() == 64'000);
  CHECK(claude_of("claude-opus-4-5").most_output_tokens() == 64'000);
  CHECK(claude_of("claude-sonnet-4-6").most_output_tokens() == 128'000);
  CHECK(claude_of("claude-opus-5").most_output_tokens() == 0);
  CHECK(claude_of("house-alias").most_output_tokens() == 0);
}

TEST_CASE("Claudes think by themselves from the fifth on") {
  CHECK(!claude_of("claude-opus-4-8").thinks_by_default());
  CHECK(claude_of("claude-sonnet-5").thinks_by_default());
  CHECK(claude_of("claude-mythos-preview").thinks_by_default());
  CHECK(!claude_of("house-alias").thinks_by_default());
}

TEST_CASE("Claudes bind thoughts to the prompt before them from 5.1 on") {
  for (const char* model : {"claude-fable-5-1", "claude-opus-5-5", "anthropic/claude-haiku-5.5"}) {
    CHECK(claude_of(model).binds_thoughts());
  }
  for (const char* model : {"claude-opus-5", "claude-sonnet-5-20260203", "claude-opus-4-8",
                            "claude-mythos-preview", "house-alias"}) {
    CHECK(!claude_of(model).binds_thoughts());
  }
}

TEST_CASE("Groq is held to a schema by some of its models") {
  CHECK(groq_schema_of("llama-3.3-70b-versatile") == GroqSchema::none);
  CHECK(groq_schema_of("openai/gpt-oss-120b") == GroqSchema::strict);
  CHECK(groq_schema_of("openai/gpt-oss-safeguard-20b") == GroqSchema::best_effort);
  CHECK(groq_schema_of("moonshotai/kimi-k2-instruct-0905") == GroqSchema::best_effort);
  CHECK(groq_schema_of("meta-llama/llama-4-scout-17b-16e-instruct") == GroqSchema::best_effort);
}

TEST_CASE("Models that others made from a Llama may reason") {
  CHECK(is_llama("meta-llama/Llama-3.3-70B-Instruct-Turbo"));
  CHECK(is_llama("llama3.1-8b"));
  CHECK(!is_llama("deepseek-r1-distill-llama-70b"));
  CHECK(!is_llama("nvidia/Llama-3_1-Nemotron-Ultra-253B-v1"));
  CHECK(!is_llama("gpt-oss-120b"));
}

TEST_CASE("The generation of a Gemini stands in its name") {
  CHECK(gemini_generation("gemini-2.5-flash") == 205);
  CHECK(gemini_generation("models/gemini-3-pro-preview") == 300);
  CHECK(gemini_generation("gemini-3.1-pro") == 301);
  CHECK(gemini_generation("gemini-flash-latest") == 0);
  CHECK(is_gemini("gemini-flash-latest"));
  CHECK(!is_gemini("gemma-3"));
  CHECK(gemini_generation("gemma-3") == 0);
}

TEST_CASE("OpenAI's models that reason are told from those that do not") {
  for (const char* model : {"o3", "o4-mini", "gpt-5", "gpt-5.4-nano", "openai/gpt-5.6-sol",
                            "gpt-oss-120b", "codex-mini-latest"}) {
    CAPTURE(model);
    CHECK(is_openai_reasoner(model));
    CHECK(!is_openai_plain(model));
  }
  for (const char* model : {"gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "chatgpt-4o-latest"}) {
    CAPTURE(model);
    CHECK(is_openai_plain(model));
    CHECK(!is_openai_reasoner(model));
  }
  CHECK(!is_openai_plain("my-deployment"));
  CHECK(!is_openai_reasoner("my-deployment"));
  CHECK(gpt_version("gpt-5.4-mini") == 504);
  CHECK(has_fixed_sampling("gpt-5"));
  CHECK(has_fixed_sampling("o4-mini"));
  CHECK(!has_fixed_sampling("gpt-oss-120b"));
  CHECK(!has_fixed_sampling("gpt-4o"));
}

TEST_CASE("Reasoning comes encrypted from OpenAI and from xAI") {
  CHECK(encrypts_reasoning("gpt-5-mini"));
  CHECK(encrypts_reasoning("x-ai/grok-4.3"));
  CHECK(!encrypts_reasoning("gpt-4o"));
  CHECK(!encrypts_reasoning("gpt-oss-120b"));
  CHECK(!encrypts_reasoning("grok-4-fast-non-reasoning"));
  CHECK(!encrypts_reasoning("grok-3"));
}

}  // namespace treaty::backends
