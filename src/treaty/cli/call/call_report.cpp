#include "treaty/cli/call/call_report.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/backends/http_backend.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/terminal.h"
#include "treaty/dispatch/structured_answer.h"
#include "treaty/results/prices.h"

namespace treaty::cli::call {
namespace {

using contracts::AgentError;
using contracts::AgentResult;

std::string provider_text(const AgentResult& result, std::string_view name) {
  if (!result.provider_data) return {};
  return harmless(result.provider_data->find_text(name).value_or(""));
}

std::string tokens_of(const contracts::UsageInfo& usage) {
  std::string out = fmt::format("{} tokens in", usage.input_tokens.value_or(0));
  if (usage.cache_read_tokens.value_or(0) > 0) {
    out += fmt::format(" ({} from the cache)", *usage.cache_read_tokens);
  }
  return out + fmt::format(", {} out", usage.output_tokens.value_or(0));
}

std::string dollars(double amount) {
  if (amount > 0 && amount < 0.000001) return "less than $0.000001";
  return fmt::format("${:.6f}", amount);
}

// Limits are counts, however large; a part of one would only be noise.
std::string count_text(const Number& count) {
  if (count.is_whole()) return fmt::format("{}", count.whole());
  return fmt::format("{:.0f}", std::ceil(count.value()));
}

std::string window_text(const contracts::RateLimitWindow& window) {
  std::string out = harmless(window.name) + " ";
  if (window.remaining) out += count_text(*window.remaining);
  if (window.remaining && window.limit) out += "/";
  if (!window.remaining) out += "of ";
  if (window.limit) out += count_text(*window.limit);
  if (window.remaining) out += " left";
  if (window.resets_in) out += fmt::format(", resets in {} s", count_text(*window.resets_in));
  return out;
}

// The call failed before any answer began, so that the type is a word of ours and not a provider's.
bool failed_here(const AgentResult& result, std::string_view type) {
  const bool answered = result.provider_data && result.provider_data->contains("raw_headers");
  return !answered && !result.error->status_code && result.error->type == type;
}

bool is_unreachable(const AgentResult& result) {
  using namespace backends::failure_types;
  return failed_here(result, kRefused) || failed_here(result, kBadAddress) ||
         failed_here(result, kTls);
}

std::string key_variables(const backends::Provider& provider) {
  return fmt::format("{}", fmt::join(provider.key.environment_variables, " or "));
}

std::string wait_text(const AgentResult& result) {
  if (!result.rate_limit || !result.rate_limit->retry_after) return "try again later";
  return fmt::format("try again in {} s", count_text(*result.rate_limit->retry_after));
}

std::string next_step(const AgentResult& result, const backends::Provider& provider) {
  using namespace backends::failure_types;
  const AgentError& error = *result.error;
  const std::string code = error.code.value_or("");
  if (failed_here(result, kMissingKey)) return fmt::format("export {}=…", key_variables(provider));
  if (failed_here(result, kTls) && error.message.contains("verify"))
    return "trust a certificate of your own with --ca-file FILE";
  if (is_unreachable(result)) return "check the address (--base-url) and the proxy (HTTPS_PROXY)";
  if (code == "auth_error") return fmt::format("check the key in {}", key_variables(provider));
  if (code == "context_length") return "shorten the text, or take a model with a larger context";
  if (code == "model_unavailable") return "check the name after --model";
  if (code == "content_filter") return "say it in other words";
  if (code == "timeout") return "try again, or give it more time with --timeout SECONDS";
  if (code == "invalid_output") return "try again, or take a model that keeps to schemas better";
  if (code == "rate_limit" && !error.retryable.value_or(true)) return "check the account's billing";
  if (error.retryable.value_or(false)) return wait_text(result);
  return "change the request as the message says";
}

}  // namespace

std::string_view text_of_answer(const AgentResult& result, bool has_schema) {
  const bool is_unfit = result.error && result.error->code == "invalid_output";
  if (!result.content || is_unfit) return {};
  return has_schema ? dispatch::json_of_answer(*result.content) : *result.content;
}

std::string usage_line(const AgentResult& result) {
  std::vector<std::string> parts;
  std::string who = provider_text(result, "provider");
  const std::string model = provider_text(result, "model");
  if (!model.empty()) who += (who.empty() ? "" : " ") + model;
  if (!who.empty()) parts.push_back(who);
  parts.push_back(result.usage ? tokens_of(*result.usage) : "usage not told");
  if (const auto cost = results::dollars_of(result)) parts.push_back(dollars(*cost));
  if (result.rate_limit) {
    for (const auto& window : result.rate_limit->windows) parts.push_back(window_text(window));
  }
  const std::string finish = result.finish_reason.value_or("");
  if (finish == "length") parts.emplace_back("cut off at the token limit (--max-tokens)");
  if (finish == "content_filter" && !result.error) parts.emplace_back("refused by the provider");
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string tool_call_lines(const AgentResult& result) {
  std::string out;
  if (!result.tool_calls) return out;
  for (const contracts::AgentToolCall& call : *result.tool_calls) {
    out += fmt::format("{}({})", harmless(call.name), harmless(call.arguments));
    if (!call.id.empty()) out += fmt::format("  [{}]", harmless(call.id));
    out.push_back('\n');
  }
  return out;
}

std::string error_lines(const AgentResult& result, const backends::Provider& provider) {
  const AgentError& error = *result.error;
  std::string head = error.code.value_or(result.finish_reason.value_or("error"));
  if (error.status_code) head += fmt::format(" (HTTP {})", *error.status_code);
  std::string out = fmt::format("treaty call: {}: {}\n", head, harmless(error.message));
  if (result.finish_reason == "aborted") return out;
  return out + fmt::format("Next: {}\n", next_step(result, provider));
}

int exit_code_of(const AgentResult& result) {
  if (!result.error) return kOk;
  if (failed_here(result, backends::failure_types::kMissingKey)) return kBadConfiguration;
  if (is_unreachable(result)) return kUnavailable;
  return result.error->retryable.value_or(false) ? kTryLater : kViolated;
}

}  // namespace treaty::cli::call
