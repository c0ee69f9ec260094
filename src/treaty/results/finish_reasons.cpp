#include "treaty/results/finish_reasons.h"

#include <algorithm>
#include <array>
#include <utility>

#include "treaty/base/text.h"

namespace treaty::results {
namespace {

using Reason = std::pair<std::string_view, std::string_view>;

// What is not here is `stop`. Letters count without regard to their case: Gemini shouts.
constexpr std::array kReasons = std::to_array<Reason>({
    {"length", "length"},
    {"max_tokens", "length"},
    {"max_output_tokens", "length"},
    {"model_length", "length"},
    {"model_context_window_exceeded", "length"},
    {"tool_calls", "tool_use"},
    {"tool_use", "tool_use"},
    {"function_call", "tool_use"},
    {"content_filter", "content_filter"},
    {"refusal", "content_filter"},
    {"safety", "content_filter"},
    {"recitation", "content_filter"},
    {"prohibited_content", "content_filter"},
    {"blocklist", "content_filter"},
    {"spii", "content_filter"},
    {"model_armor", "content_filter"},
    {"image_safety", "content_filter"},
    {"error", "error"},
    {"failed", "error"},
    {"malformed_function_call", "error"},
    {"unexpected_tool_call", "error"},
    {"cancelled", "aborted"},
    {"aborted", "aborted"},
});

}  // namespace

std::string_view finish_reason_of(const Answer& answer) {
  if (answer.prompt_blocked) return "content_filter";
  const auto known = std::ranges::find_if(kReasons, [&](const Reason& reason) {
    return equal_folded(reason.first, answer.finish_reason_raw);
  });
  if (known != kReasons.end()) return known->second;
  if (!answer.tool_calls.empty()) return "tool_use";
  return answer.refusal.empty() ? "stop" : "content_filter";
}

}  // namespace treaty::results
