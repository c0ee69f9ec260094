#include "treaty/turns/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/results/prices.h"
#include "treaty/turns/tool_calls.h"

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::ToolMessage;
using contracts::AgentError;
using contracts::AgentResult;

// --- What it cost
// ---------------------------------------------------------------------------------

// Counts come from outside: none makes a sum wrap around or shrink.
std::int64_t sum(std::int64_t left, std::int64_t right) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  right = std::max<std::int64_t>(right, 0);
  return left > kMost - right ? kMost : left + right;
}

void count_usage(Progress& progress, const contracts::UsageInfo& spent) {
  contracts::Usage& usage = progress.usage ? *progress.usage : progress.usage.emplace();
  const std::int64_t input = spent.input_tokens.value_or(0);
  const std::int64_t output = spent.output_tokens.value_or(0);
  usage.prompt_tokens = sum(usage.prompt_tokens, input);
  usage.completion_tokens = sum(usage.completion_tokens, output);
  usage.total_tokens =
      sum(usage.total_tokens,
          spent.total_tokens.value_or(sum(std::max<std::int64_t>(input, 0), output)));
  if (spent.cache_read_tokens) {
    usage.cached_tokens = sum(usage.cached_tokens.value_or(0), *spent.cache_read_tokens);
  }
}

void count(Progress& progress, const AgentResult& result) {
  if (result.usage) count_usage(progress, *result.usage);
  const double cost = progress.cost + results::dollars_of(result).value_or(0);
  if (std::isfinite(cost)) progress.cost = cost;
}

// --- What it said
// ---------------------------------------------------------------------------------

std::string text_of(const AgentResult& result) {
  if (result.content)
    return is_utf8(*result.content) ? *result.content : repaired_utf8(*result.content);
  if (!result.output) return {};
  json::Writer writer;
  json::write(writer, *result.output);
  return writer.take();
}

AgentError failure(std::string_view code, std::string message, bool retryable) {
  return {.message = std::move(message), .code = std::string(code), .retryable = retryable};
}

// An error that the result does not name as one.
std::optional<AgentError> unnamed_error(std::string_view finish_reason) {
  if (finish_reason == "content_filter") {
    return failure("content_filter", "the answer was withheld by a content filter", false);
  }
  if (finish_reason == "error") return failure("server_error", "the model ended in an error", true);
  if (finish_reason == "aborted") {
    return failure("server_error", "the answer was broken off before its end", true);
  }
  return std::nullopt;
}

Step step_without_calls(std::string_view finish_reason, std::string text) {
  if (finish_reason == "tool_use" && is_blank(text)) {
    return Fail{failure("server_error", "the model wanted a tool but called none", true)};
  }
  return Finish{.text = std::move(text), .was_cut = finish_reason == "length"};
}

}  // namespace

Stepped next_step(const Role& role, int max_rounds, Progress progress, const AgentResult& result) {
  Stepped stepped{.step = Finish{}, .progress = std::move(progress)};
  count(stepped.progress, result);
  if (result.error) {
    Fail fail{*result.error};
    if (fail.error.type == kAnswerTooLarge) fail.error.retryable = false;
    stepped.step = std::move(fail);
    return stepped;
  }
  const std::string_view reason =
      result.finish_reason ? std::string_view(*result.finish_reason) : std::string_view("stop");
  if (auto error = unnamed_error(reason)) {
    stepped.step = Fail{*std::move(error)};
    return stepped;
  }
  stepped.said.text = text_of(result);
  if (!result.tool_calls || result.tool_calls->empty()) {
    stepped.step = step_without_calls(reason, stepped.said.text);
    return stepped;
  }
  if (stepped.progress.tool_rounds >= max_rounds) {
    stepped.step = Fail{
        failure("max_rounds",
                fmt::format("the model asked for tools more than {} times", max_rounds), false)};
    return stepped;
  }
  ++stepped.progress.tool_rounds;
  CheckedCalls checked =
      check_tool_calls(role, *result.tool_calls, reason == "length", stepped.progress);
  stepped.said.tool_calls = std::move(checked.said);
  stepped.notes = std::move(checked.notes);
  if (checked.for_client.empty()) {
    stepped.step = AskAgain{std::move(checked.refused)};
  } else {
    stepped.step = AskClient{.calls = std::move(checked.for_client),
                             .known = std::move(checked.refused),
                             .text = stepped.said.text};
  }
  return stepped;
}

std::vector<ToolMessage> in_order_of_calls(const AssistantMessage& said,
                                           std::vector<ToolMessage> results) {
  std::unordered_map<std::string_view, ToolMessage*> by_id;
  for (ToolMessage& result : results) by_id.emplace(result.tool_call_id, &result);
  std::vector<ToolMessage> ordered;
  ordered.reserve(said.tool_calls.size());
  for (const contracts::AgentToolCall& call : said.tool_calls) {
    const auto found = by_id.find(call.id);
    if (found == by_id.end()) {
      ordered.push_back({.tool_call_id = call.id,
                         .tool_name = call.name,
                         .content = "There is no result of this call.",
                         .failed = true});
      continue;
    }
    ordered.push_back(*found->second);
  }
  return ordered;
}

}  // namespace treaty::turns
