#include "treaty/contracts/agent_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/parts/agent_result_parts.h"

namespace treaty::contracts {
namespace {

enum Field {
  kOutput,
  kContent,
  kUsage,
  kCost,
  kMetadata,
  kFinishReason,
  kError,
  kRateLimit,
  kProviderData,
  kToolCalls,
  kRenderedUserPrompt,
  kRaw,
  kFieldCount
};
constexpr std::array<std::string_view, kFieldCount> kNames = {"output",
                                                              "content",
                                                              "usage",
                                                              "cost",
                                                              "metadata",
                                                              "finish_reason",
                                                              "error",
                                                              "rate_limit",
                                                              "provider_data",
                                                              "tool_calls",
                                                              "rendered_user_prompt",
                                                              "raw"};
using Members = KnownMembers<kFieldCount>;

constexpr std::array<std::string_view, 6> kFinishReasons = {"stop",  "length",         "tool_use",
                                                            "error", "content_filter", "aborted"};

// RLT-01: null is absent.
const Place* given(const Members& members, Field field) { return unless_null(members[field]); }

// RLT-03.
std::optional<json::ObjectText> open_object(Inspection& inspection, const Place* place) {
  if (place == nullptr || !is_object_field(inspection, "RLT-03", *place)) return std::nullopt;
  return json::ObjectText::of(place->value);
}

void inspect_finish_reason(Inspection& inspection, AgentResult& result, const Place* reason,
                           bool failed) {
  result.finish_reason = optional_text(inspection, "RLT-04", reason);
  if (!result.finish_reason) return;
  if (std::ranges::find(kFinishReasons, *result.finish_reason) == kFinishReasons.end()) {
    inspection.warn("RLT-04", *reason,
                    fmt::format("\"{}\" is not a known finish reason", *result.finish_reason),
                    "stop, length, tool_use, error, content_filter or aborted");
  }
  if (failed && *result.finish_reason == "stop") {
    inspection.warn("RLT-11", *reason, "there is an error, yet the finish reason is stop",
                    "a failed call finishes with error");
  }
}

std::optional<json::ObjectText> inspect_provider_data(Inspection& inspection, const Place* place) {
  std::optional<json::ObjectText> data = open_object(inspection, place);
  if (data) inspect_provider_members(inspection, *place);
  return data;
}

void inspect_tool_calls(Inspection& inspection, AgentResult& result, const Place* place) {
  if (place == nullptr) return;
  result.tool_calls = read_agent_tool_calls(place->value);
  if (result.tool_calls) return;
  inspection.warn("RLT-01", *place, "tool_calls is not a list of {id, name, arguments}",
                  "arguments is the JSON text that the model wrote");
}

void inspect_prompt(Inspection& inspection, AgentResult& result, const Place* place) {
  if (place == nullptr) return;
  if (place->value.is_string()) {
    result.rendered_user_prompt = std::string(place->value.text());
  } else {
    inspection.warn("RLT-01", *place, "rendered_user_prompt is not a string; it is ignored");
  }
}

AgentResult inspect_agent_result(Inspection& inspection, const Place& root) {
  const Members members(root, kNames, inspection.name_case());
  AgentResult result;
  result.output = open_object(inspection, given(members, kOutput));
  result.content = optional_text(inspection, "RLT-03", given(members, kContent));
  if (const Place* usage = given(members, kUsage))
    result.usage = inspect_usage_info(inspection, *usage);
  if (const Place* cost = given(members, kCost)) result.cost = inspect_cost(inspection, *cost);
  result.metadata = open_object(inspection, given(members, kMetadata));
  const Place* error = given(members, kError);
  if (error != nullptr) result.error = inspect_agent_error(inspection, *error);
  inspect_finish_reason(inspection, result, given(members, kFinishReason), error != nullptr);
  if (const Place* state = given(members, kRateLimit)) {
    result.rate_limit = inspect_rate_limit(inspection, *state);
  }
  result.provider_data = inspect_provider_data(inspection, given(members, kProviderData));
  inspect_tool_calls(inspection, result, given(members, kToolCalls));
  inspect_prompt(inspection, result, given(members, kRenderedUserPrompt));
  if (members[kRaw] != nullptr) {
    inspection.refuse("RLT-02", *members[kRaw], "raw never leaves the process", "leave it out");
  }
  for (const Place& extra : members.unknown()) {
    inspection.warn("RLT-01", extra,
                    fmt::format("the contract has no member {}; it is ignored", extra.name));
  }
  inspection.set_kind(error == nullptr ? "success" : "failure");
  return result;
}

}  // namespace

Decoded<AgentResult> decode_agent_result(std::string_view bytes, const DecodeOptions& options) {
  return decode_by<AgentResult>(inspect_agent_result, bytes, options, json::NameCase::exact,
                                kNames);
}

std::string encode(const AgentResult& result) {
  json::Writer writer;
  const auto text = [&](Field field, const std::optional<std::string>& value) {
    if (value) writer.member(kNames[field], *value);
  };
  const auto object = [&](Field field, const std::optional<json::ObjectText>& value) {
    if (!value) return;
    json::write(writer.name(kNames[field]), *value);
  };
  const auto part = [&](Field field, const auto& value) {
    if (!value) return;
    writer.name(kNames[field]);
    write(writer, *value);
  };
  writer.begin_object();
  object(kOutput, result.output);
  text(kContent, result.content);
  part(kUsage, result.usage);
  part(kCost, result.cost);
  object(kMetadata, result.metadata);
  text(kFinishReason, result.finish_reason);
  part(kError, result.error);
  part(kRateLimit, result.rate_limit);
  object(kProviderData, result.provider_data);
  part(kToolCalls, result.tool_calls);
  text(kRenderedUserPrompt, result.rendered_user_prompt);
  return writer.end_object().take();
}

std::string encode(const RateLimitState& state) {
  json::Writer writer;
  write(writer, state);
  return writer.take();
}

std::string encode(const AgentError& error) {
  json::Writer writer;
  write(writer, error);
  return writer.take();
}

}  // namespace treaty::contracts
