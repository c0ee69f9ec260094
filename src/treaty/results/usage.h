// Token counts as each family of providers reports them, brought to one meaning: input_tokens
// counts every prompt token, cached ones too; output_tokens includes reasoning; total_tokens is
// their sum. A count that is negative, no whole number or too large is as if it were not there.
#pragma once

#include <optional>

#include "treaty/base/json.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::results {

// Nothing when the object has no count at all.
using MaybeUsage = std::optional<contracts::UsageInfo>;

// prompt_tokens, completion_tokens and what providers hang below them; also the names of Responses.
MaybeUsage read_openai_usage(json::Value usage);

// usageMetadata.
MaybeUsage read_gemini_usage(json::Value usage);

// prompt_eval_count and eval_count, beside the answer itself.
MaybeUsage read_ollama_usage(json::Value answer);

// A stream tells its counts piece by piece: what `usage` has replaces what was known before.
MaybeUsage read_anthropic_usage(json::Value usage, const MaybeUsage& before = {});

// The provider's own price of the call, in dollars: OpenRouter, xAI, Perplexity.
std::optional<double> read_provider_cost(json::Value usage);

}  // namespace treaty::results
