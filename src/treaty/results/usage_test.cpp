#include "treaty/results/usage.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

using namespace treaty;
using namespace treaty::results;

namespace {

std::string told(const MaybeUsage& usage) {
  if (!usage) return "nothing";
  const auto count = [](const auto& number) {
    return number ? std::to_string(*number) : std::string("-");
  };
  CHECK(usage->api_calls == 1);
  return fmt::format("{}+{}={} cache {}/{}", count(usage->input_tokens),
                     count(usage->output_tokens), count(usage->total_tokens),
                     count(usage->cache_read_tokens), count(usage->cache_write_tokens));
}

template <class Read>
std::string read(Read reader, std::string_view text) {
  const json::Document document(text, {.grammar_only = true});
  return told(reader(*document.root()));
}

std::string openai(std::string_view text) { return read(read_openai_usage, text); }
std::string gemini(std::string_view text) { return read(read_gemini_usage, text); }
std::string ollama(std::string_view text) { return read(read_ollama_usage, text); }

// The usages of a stream's events, one after the other.
MaybeUsage anthropic_usage(std::initializer_list<std::string_view> events) {
  MaybeUsage usage;
  for (const std::string_view text : events) {
    const json::Document document(text);
    usage = read_anthropic_usage(*document.root(), usage);
  }
  return usage;
}

std::string anthropic(std::initializer_list<std::string_view> events) {
  return told(anthropic_usage(events));
}

std::optional<double> cost(std::string_view text) {
  const json::Document document(text, {.grammar_only = true});
  return read_provider_cost(*document.root());
}

}  // namespace

TEST_CASE("OpenAI's prompt tokens include the cached ones") {
  CHECK(openai(R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                   "prompt_tokens_details": {"cached_tokens": 4}})") == "10+5=15 cache 4/-");
}

TEST_CASE("Responses has names of its own, and tells what was written to the cache") {
  CHECK(openai(R"({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                   "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}})") ==
        "10+5=15 cache 4/3");
}

TEST_CASE("OpenRouter tells cache writes beside the reads") {
  CHECK(openai(R"({"prompt_tokens": 9, "completion_tokens": 1,
                   "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 8}})") ==
        "9+1=10 cache 0/8");
}

TEST_CASE("DeepSeek, Together and Hugging Face tell the cache beside the prompt") {
  CHECK(openai(R"({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 6,
                   "prompt_cache_miss_tokens": 3})") == "9+1=10 cache 6/-");
  CHECK(openai(R"({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 2})") ==
        "9+1=10 cache 2/-");
}

TEST_CASE("tokens that only the total knows of are reasoning, or Mistral's sound") {
  CHECK(openai(R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115})") ==
        "10+105=115 cache -/-");
  CHECK(openai(R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115,
                   "prompt_tokens_details": {"audio_tokens": 100}})") == "110+5=115 cache -/-");
  CHECK(openai(R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 3})") ==
        "10+5=15 cache -/-");
}

TEST_CASE("one count is enough, and none is no usage") {
  CHECK(openai(R"({"prompt_tokens": 10})") == "10+0=10 cache -/-");
  CHECK(openai(R"({"total_tokens": 7})") == "0+7=7 cache -/-");
  CHECK(openai("{}") == "nothing");
  CHECK(openai(R"({"queue_time": 0.5, "prompt_tokens": null})") == "nothing");
}

TEST_CASE("a count that is negative, no whole number or too large is not there") {
  for (const char* count : {"-1", "1.5", "\"7\"", "1e300", "99999999999999999999", "true", "[1]"}) {
    CAPTURE(count);
    CHECK(openai(fmt::format(R"({{"prompt_tokens": {}, "completion_tokens": 5}})", count)) ==
          "0+5=5 cache -/-");
  }
  CHECK(openai(R"({"prompt_tokens": 12.0})") == "12+0=12 cache -/-");
}

TEST_CASE("sums end at int64's end") {
  CHECK(openai(R"({"prompt_tokens": 9223372036854775807, "completion_tokens": 5})") ==
        "9223372036854775807+5=9223372036854775807 cache -/-");
}

TEST_CASE("Gemini counts thoughts as output and tool prompts as input") {
  CHECK(gemini(R"({"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3,
                   "toolUsePromptTokenCount": 2, "totalTokenCount": 20,
                   "cachedContentTokenCount": 4})") == "12+8=20 cache 4/-");
  CHECK(gemini(R"({"promptTokenCount": 10, "totalTokenCount": 10})") == "10+0=10 cache -/-");
  CHECK(gemini(R"({"trafficType": "ON_DEMAND"})") == "nothing");
}

TEST_CASE("Ollama counts evaluations") {
  CHECK(ollama(R"({"prompt_eval_count": 26, "eval_count": 290})") == "26+290=316 cache -/-");
  CHECK(ollama(R"({"eval_count": 290})") == "0+290=290 cache -/-");
  CHECK(ollama(R"({"total_duration": 5})") == "nothing");
}

TEST_CASE("Anthropic's input leaves the cache out, ours does not") {
  CHECK(anthropic({R"({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100,
                       "cache_creation_input_tokens": 20})"}) == "130+5=135 cache 100/20");
  CHECK(anthropic({R"({"input_tokens": 10, "output_tokens": 5})"}) == "10+5=15 cache -/-");
  CHECK(anthropic({"{}"}) == "nothing");
}

TEST_CASE("Anthropic's stream tells its counts field by field, the last of each stays") {
  CHECK(anthropic({R"({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100})",
                   R"({"output_tokens": 5})", R"({"output_tokens": 42})"}) ==
        "110+42=152 cache 100/-");
  CHECK(anthropic({R"({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100})",
                   R"({"input_tokens": 12, "cache_read_input_tokens": 50, "output_tokens": 9})"}) ==
        "62+9=71 cache 50/-");
}

TEST_CASE("absurd counts of a stream never become negative ones") {
  constexpr std::string_view kMost =
      R"({"input_tokens": 1, "cache_read_input_tokens": 9223372036854775807,
          "cache_creation_input_tokens": 9223372036854775807})";
  constexpr std::string_view kNone =
      R"({"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0})";

  CHECK(anthropic_usage({kMost, kNone})->input_tokens.value() >= 0);
  CHECK(anthropic_usage({kMost, kNone, kMost, kMost, kNone})->total_tokens.value() >= 0);
}

TEST_CASE("a provider's own figure is told in three ways") {
  CHECK(cost(R"({"cost": 0.0125})") == 0.0125);
  CHECK(cost(R"({"cost": {"total_cost": 0.25}})") == 0.25);
  CHECK(cost(R"({"cost_in_usd_ticks": 25000000})") == doctest::Approx(0.0025));
  CHECK(cost(R"({"cost": 0})") == 0.0);
}

TEST_CASE("a figure that is negative, not finite or no number is none") {
  for (const char* text : {R"({"cost": -1})", R"({"cost": 1e999})", R"({"cost": "0.1"})",
                           R"({"cost": null})", R"({"cost": {}})", "{}"}) {
    CAPTURE(text);
    CHECK(!cost(text));
  }
}
