#include "treaty/results/usage.h"

#include <algorithm>
#include <cmath>

namespace treaty::results {
namespace {

using Count = std::optional<std::int64_t>;

Count count_of(std::optional<json::Value> object, std::string_view name) {
  const auto value = json::find_member(object, name);
  if (!value || !value->is_number()) return std::nullopt;
  auto count = value->integer();
  if (!count && value->type() == json::Type::decimal) {  // 12.0 is 12.
    const Number number(value->number());
    if (number.is_whole()) count = number.whole();
  }
  return count && *count >= 0 ? count : std::nullopt;
}

Count first_of(Count first, Count second) { return first ? first : second; }

Count sum_of(Count left, Count right) {
  if (!left && !right) return std::nullopt;
  return saturating_sum(left.value_or(0), right.value_or(0));
}

contracts::UsageInfo usage_of(std::int64_t input, std::int64_t output) {
  return {.input_tokens = input,
          .output_tokens = output,
          .total_tokens = saturating_sum(input, output),
          .api_calls = 1};
}

// Tokens that only the total knows of: Mistral leaves sound out of the prompt, xAI and Gemini's
// compatible endpoint leave reasoning out of the completion.
void place_rest(std::int64_t& input, std::int64_t& output, Count total, Count audio) {
  const std::int64_t known = saturating_sum(input, output);
  if (!total || *total <= known) return;
  const std::int64_t rest = *total - known;
  (audio == rest ? input : output) += rest;
}

}  // namespace

MaybeUsage read_openai_usage(json::Value usage) {
  const Count prompt = first_of(count_of(usage, "prompt_tokens"), count_of(usage, "input_tokens"));
  const Count completion =
      first_of(count_of(usage, "completion_tokens"), count_of(usage, "output_tokens"));
  const Count total = count_of(usage, "total_tokens");
  if (!prompt && !completion && !total) return std::nullopt;
  auto details = json::find_member(usage, "prompt_tokens_details");
  if (!details) details = json::find_member(usage, "input_tokens_details");
  std::int64_t input = prompt.value_or(0);
  // A part that nobody told is what the other leaves of the total.
  if (!prompt && completion && total) input = std::max<std::int64_t>(0, *total - *completion);
  std::int64_t output = completion.value_or(0);
  place_rest(input, output, total, count_of(details, "audio_tokens"));
  contracts::UsageInfo read = usage_of(input, output);
  read.cache_read_tokens = first_of(
      count_of(details, "cached_tokens"),
      first_of(count_of(usage, "prompt_cache_hit_tokens"), count_of(usage, "cached_tokens")));
  read.cache_write_tokens = count_of(details, "cache_write_tokens");
  return read;
}

MaybeUsage read_gemini_usage(json::Value usage) {
  const Count input =
      sum_of(count_of(usage, "promptTokenCount"), count_of(usage, "toolUsePromptTokenCount"));
  const Count output =
      sum_of(count_of(usage, "candidatesTokenCount"), count_of(usage, "thoughtsTokenCount"));
  const Count total = count_of(usage, "totalTokenCount");
  if (!input && !output && !total) return std::nullopt;
  std::int64_t input_tokens = input.value_or(0);
  std::int64_t output_tokens = output.value_or(0);
  place_rest(input_tokens, output_tokens, total, {});
  contracts::UsageInfo read = usage_of(input_tokens, output_tokens);
  read.cache_read_tokens = count_of(usage, "cachedContentTokenCount");
  return read;
}

MaybeUsage read_ollama_usage(json::Value answer) {
  const Count input = count_of(answer, "prompt_eval_count");
  const Count output = count_of(answer, "eval_count");
  if (!input && !output) return std::nullopt;
  return usage_of(input.value_or(0), output.value_or(0));
}

MaybeUsage read_anthropic_usage(json::Value usage, const MaybeUsage& before) {
  Count known_input;
  Count known_output;
  Count known_read;
  Count known_write;
  if (before) {
    known_read = before->cache_read_tokens;
    known_write = before->cache_write_tokens;
    known_output = before->output_tokens;
    // Absurd counts ended at int64's end: their sum is less than its parts.
    known_input = std::max<std::int64_t>(
        0, *before->input_tokens - known_read.value_or(0) - known_write.value_or(0));
  }
  const Count input = first_of(count_of(usage, "input_tokens"), known_input);
  const Count output = first_of(count_of(usage, "output_tokens"), known_output);
  const Count read = first_of(count_of(usage, "cache_read_input_tokens"), known_read);
  const Count write = first_of(count_of(usage, "cache_creation_input_tokens"), known_write);
  if (!input && !output && !read && !write) return std::nullopt;
  const std::int64_t cached = saturating_sum(read.value_or(0), write.value_or(0));
  contracts::UsageInfo result =
      usage_of(saturating_sum(input.value_or(0), cached), output.value_or(0));
  result.cache_read_tokens = read;
  result.cache_write_tokens = write;
  return result;
}

std::optional<double> read_provider_cost(json::Value usage) {
  constexpr double kTicksPerDollar = 1e10;  // xAI.
  const auto dollars = [](std::optional<json::Value> value) -> std::optional<double> {
    if (!value || !value->is_number()) return std::nullopt;
    const double amount = value->number();
    return std::isfinite(amount) && amount >= 0 ? std::optional(amount) : std::nullopt;
  };
  const auto cost = json::find_member(usage, "cost");
  if (const auto amount = dollars(cost)) return amount;
  if (const auto amount = dollars(json::find_member(cost, "total_cost"))) return amount;
  if (const auto ticks = dollars(json::find_member(usage, "cost_in_usd_ticks"))) {
    return *ticks / kTicksPerDollar;
  }
  return std::nullopt;
}

}  // namespace treaty::results
