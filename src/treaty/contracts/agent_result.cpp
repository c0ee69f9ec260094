#include "treaty/contracts/agent_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

enum ErrorField {
  kAgentResultMessage,
  kCode,
  kType,
  kStatusCode,
  kRetryable,
  kAgentResultErrorFieldCount
};
constexpr std::array<std::string_view, kAgentResultErrorFieldCount> kAgentResultErrorNames = {
    "message", "code", "type", "status_code", "retryable"};

constexpr std::array<std::string_view, 8> kErrorCodes = {
    "rate_limit", "timeout",        "server_error",   "invalid_request",
    "auth_error", "content_filter", "context_length", "model_unavailable"};

constexpr std::array<std::string_view, 6> kAgentResultUsageNames = {
    "input_tokens",      "output_tokens",      "total_tokens",
    "cache_read_tokens", "cache_write_tokens", "api_calls"};
constexpr std::array<std::optional<std::int64_t> UsageInfo::*, 6> kUsageFields = {
    &UsageInfo::input_tokens,      &UsageInfo::output_tokens,      &UsageInfo::total_tokens,
    &UsageInfo::cache_read_tokens, &UsageInfo::cache_write_tokens, &UsageInfo::api_calls};
constexpr std::size_t kTotalTokens = 2;

constexpr std::array<std::string_view, 5> kCostNames = {"input", "output", "cache_read",
                                                        "cache_write", "total"};
constexpr std::array<std::optional<double> CostInfo::*, 5> kCostFields = {
    &CostInfo::input, &CostInfo::output, &CostInfo::cache_read, &CostInfo::cache_write,
    &CostInfo::total};

enum LimitField { kLimited, kRetryAfter, kWindows, kLimitFieldCount };
constexpr std::array<std::string_view, kLimitFieldCount> kLimitNames = {"limited", "retry_after",
                                                                        "windows"};

enum WindowField { kAgentResultName, kResource, kFirstNumber, kWindowFieldCount = 6 };
constexpr std::array<std::string_view, kWindowFieldCount> kWindowNames = {
    "name", "resource", "remaining", "limit", "resets_in", "reset_at"};
constexpr std::array<std::optional<Number> RateLimitWindow::*, 4> kWindowNumbers = {
    &RateLimitWindow::remaining, &RateLimitWindow::limit, &RateLimitWindow::resets_in,
    &RateLimitWindow::reset_at};

enum ProviderField {
  kProvider,
  kAgentResultModel,
  kAgentResultRequestId,
  kRawHeaders,
  kProviderFieldCount
};
constexpr std::array<std::string_view, kProviderFieldCount> kProviderNames = {
    "provider", "model", "request_id", "raw_headers"};

std::optional<Number> number_field(Inspection& inspection, RuleId rule, const Place* place) {
  if (unless_null(place) == nullptr) return std::nullopt;
  if (const auto whole = place->value.is_number() ? place->value.integer() : std::nullopt) {
    return Number(*whole);
  }
  if (place->value.is_number()) return Number(place->value.number());
  inspection.refuse(
      rule, *place,
      fmt::format("{} is {}, not a number", place->name, a_kind_of(place->value.type())));
  return std::nullopt;
}

std::string required_string(Inspection& inspection, RuleId rule, const Place* place,
                            const Place& object, std::string_view name) {
  if (place == nullptr) {
    inspection.refuse_missing(rule, object, name);
    return {};
  }
  return is_string_field(inspection, rule, *place) ? std::string(place->value.text())
                                                   : std::string();
}

// Inside an AgentResult, too, null is absent wherever a member may be left out.
std::optional<std::string> nullable_text(Inspection& inspection, RuleId rule, const Place* place) {
  return optional_text(inspection, rule, unless_null(place));
}

void inspect_status_code(Inspection& inspection, AgentError& error, const Place* place) {
  if (unless_null(place) == nullptr) return;
  error.status_code = integer_field(inspection, "RLT-05", *place);
  if (error.status_code && (*error.status_code < 100 || *error.status_code > 599)) {
    inspection.refuse("RLT-05", *place, "status_code is an HTTP status, 100 to 599");
  }
}

RateLimitWindow inspect_window(Inspection& inspection, const Place& place) {
  RateLimitWindow window;
  if (!is_object_field(inspection, "RLT-09", place)) return window;
  const KnownMembers members(place, kWindowNames, inspection.name_case());
  window.name = required_string(inspection, "RLT-09", members[kAgentResultName], place,
                                kWindowNames[kAgentResultName]);
  window.resource =
      required_string(inspection, "RLT-09", members[kResource], place, kWindowNames[kResource]);
  for (std::size_t i = 0; i < kWindowNumbers.size(); ++i) {
    window.*kWindowNumbers[i] = number_field(inspection, "RLT-09", members[kFirstNumber + i]);
  }
  return window;
}

void write_numbers(json::Writer& writer, const auto& owner, const auto& names, const auto& fields,
                   std::size_t first_name = 0) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& number = owner.*fields[i];
    if (number) writer.member(names[first_name + i], *number);
  }
}

// RLT-05.
AgentError inspect_agent_error(Inspection& inspection, const Place& place) {
  AgentError error;
  if (!is_object_field(inspection, "RLT-05", place)) return error;
  const KnownMembers members(place, kAgentResultErrorNames, inspection.name_case());
  error.message = required_text(inspection, "RLT-05", members[kAgentResultMessage], place,
                                kAgentResultErrorNames[kAgentResultMessage]);
  error.code = nullable_text(inspection, "RLT-05", members[kCode]);
  if (error.code && std::ranges::find(kErrorCodes, *error.code) == kErrorCodes.end()) {
    inspection.warn("RLT-05", *members[kCode],
                    fmt::format("\"{}\" is not one of the known error codes", *error.code));
  }
  error.type = nullable_text(inspection, "RLT-05", members[kType]);
  inspect_status_code(inspection, error, members[kStatusCode]);
  if (const Place* retryable = members[kRetryable];
      unless_null(retryable) != nullptr && is_boolean_field(inspection, "RLT-05", *retryable)) {
    error.retryable = retryable->value.boolean();
  }
  return error;
}

// RLT-06.
UsageInfo inspect_usage_info(Inspection& inspection, const Place& place) {
  UsageInfo usage;
  if (!is_object_field(inspection, "RLT-06", place)) return usage;
  const KnownMembers members(place, kAgentResultUsageNames, inspection.name_case());
  for (std::size_t i = 0; i < kAgentResultUsageNames.size(); ++i) {
    if (unless_null(members[i]) == nullptr) continue;
    usage.*kUsageFields[i] = integer_field(inspection, "RLT-06", *members[i], 0);
  }
  std::int64_t sum = 0;
  if (usage.input_tokens && usage.output_tokens && usage.total_tokens &&
      (__builtin_add_overflow(*usage.input_tokens, *usage.output_tokens, &sum) ||
       sum != *usage.total_tokens)) {
    inspection.warn("RLT-06", *members[kTotalTokens],
                    "total_tokens is not the sum of input_tokens and output_tokens");
  }
  return usage;
}

// RLT-07.
std::variant<double, CostInfo> inspect_cost(Inspection& inspection, const Place& place) {
  if (place.value.is_number()) return place.value.number();
  CostInfo cost;
  if (!place.value.is_object()) {
    inspection.refuse("RLT-07", place,
                      fmt::format("cost is {}, not a number or an object of numbers",
                                  a_kind_of(place.value.type())));
    return cost;
  }
  const KnownMembers members(place, kCostNames, inspection.name_case());
  for (std::size_t i = 0; i < kCostNames.size(); ++i) {
    if (const auto number = number_field(inspection, "RLT-07", members[i])) {
      cost.*kCostFields[i] = number->value();
    }
  }
  return cost;
}

// RLT-08, RLT-09.
RateLimitState inspect_rate_limit(Inspection& inspection, const Place& place) {
  RateLimitState state;
  if (!is_object_field(inspection, "RLT-08", place)) return state;
  const KnownMembers members(place, kLimitNames, inspection.name_case());
  const Place* limited = members[kLimited];
  if (limited == nullptr) {
    inspection.refuse_missing("RLT-08", place, kLimitNames[kLimited]);
  } else if (is_boolean_field(inspection, "RLT-08", *limited)) {
    state.limited = limited->value.boolean();
  }
  state.retry_after = number_field(inspection, "RLT-08", members[kRetryAfter]);
  if (state.retry_after && state.retry_after->value() < 0) {
    inspection.refuse("RLT-08", *members[kRetryAfter], "retry_after is negative");
  }
  const Place* windows = members[kWindows];
  if (unless_null(windows) == nullptr || !is_array_field(inspection, "RLT-08", *windows))
    return state;
  state.windows = inspect_entries(inspection, *windows, inspect_window);
  const bool exhausted = std::ranges::any_of(
      state.windows, [](const RateLimitWindow& window) { return window.remaining == Number(0); });
  if (exhausted && limited != nullptr && limited->value.is_boolean() && !state.limited) {
    inspection.warn("RLT-09", *limited, "limited is false although a window has nothing left");
  }
  return state;
}

// RLT-10.
void inspect_provider_members(Inspection& inspection, const Place& provider_data) {
  const KnownMembers members(provider_data, kProviderNames, inspection.name_case());
  for (const ProviderField field : {kProvider, kAgentResultModel, kAgentResultRequestId}) {
    nullable_text(inspection, "RLT-10", members[field]);
  }
  const Place* headers = members[kRawHeaders];
  if (unless_null(headers) == nullptr || !is_object_field(inspection, "RLT-10", *headers)) return;
  for (const json::Member header : headers->value.members()) {
    const Place place{.value = header.value, .parent = headers, .name = header.name.text()};
    if (std::ranges::any_of(place.name, is_upper)) {
      inspection.refuse("RLT-10", place, "names of headers are in lower case");
    }
    is_string_field(inspection, "RLT-10", place);
  }
}

// Nothing when it has another shape.
std::optional<std::vector<AgentToolCall>> read_agent_tool_calls(json::Value value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<AgentToolCall> calls;
  for (const json::Value element : value.elements()) {
    if (!element.is_object()) return std::nullopt;
    AgentToolCall call;
    for (auto [name, text] : {std::pair<std::string_view, std::string*>{"id", &call.id},
                              {"name", &call.name},
                              {"arguments", &call.arguments}}) {
      const auto member = element.members().find(name);
      if (!member || !member->is_string()) return std::nullopt;
      *text = std::string(member->text());
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

void write(json::Writer& writer, const AgentError& error) {
  writer.begin_object();
  if (error.code) writer.member(kAgentResultErrorNames[kCode], *error.code);
  if (error.type) writer.member(kAgentResultErrorNames[kType], *error.type);
  writer.member(kAgentResultErrorNames[kAgentResultMessage], error.message);
  if (error.status_code) writer.member(kAgentResultErrorNames[kStatusCode], *error.status_code);
  if (error.retryable) writer.member(kAgentResultErrorNames[kRetryable], *error.retryable);
  writer.end_object();
}

void write(json::Writer& writer, const UsageInfo& usage) {
  writer.begin_object();
  write_numbers(writer, usage, kAgentResultUsageNames, kUsageFields);
  writer.end_object();
}

void write(json::Writer& writer, const std::variant<double, CostInfo>& cost) {
  if (const auto* total = std::get_if<double>(&cost)) {
    writer.value(*total);
    return;
  }
  writer.begin_object();
  write_numbers(writer, std::get<CostInfo>(cost), kCostNames, kCostFields);
  writer.end_object();
}

void write(json::Writer& writer, const RateLimitState& state) {
  writer.begin_object();
  writer.member(kLimitNames[kLimited], state.limited);
  if (state.retry_after) writer.member(kLimitNames[kRetryAfter], *state.retry_after);
  if (!state.windows.empty()) {
    writer.name(kLimitNames[kWindows]).begin_array();
    for (const RateLimitWindow& window : state.windows) {
      writer.begin_object();
      writer.member(kWindowNames[kAgentResultName], window.name);
      writer.member(kWindowNames[kResource], window.resource);
      write_numbers(writer, window, kWindowNames, kWindowNumbers, kFirstNumber);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

void write(json::Writer& writer, const std::vector<AgentToolCall>& calls) {
  writer.begin_array();
  for (const AgentToolCall& call : calls) {
    writer.begin_object();
    writer.member("id", call.id).member("name", call.name).member("arguments", call.arguments);
    writer.end_object();
  }
  writer.end_array();
}

enum AgentResultField {
  kOutput,
  kContent,
  kAgentResultUsage,
  kCost,
  kAgentResultMetadata,
  kFinishReason,
  kError,
  kRateLimit,
  kProviderData,
  kAgentResultToolCalls,
  kRenderedUserPrompt,
  kRaw,
  kAgentResultFieldCount
};
constexpr std::array<std::string_view, kAgentResultFieldCount> kAgentResultNames = {
    "output",
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
using AgentResultMembers = KnownMembers<kAgentResultFieldCount>;

constexpr std::array<std::string_view, 6> kFinishReasons = {"stop",  "length",         "tool_use",
                                                            "error", "content_filter", "aborted"};

// RLT-01: null is absent.
const Place* given(const AgentResultMembers& members, AgentResultField field) {
  return unless_null(members[field]);
}

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
  const AgentResultMembers members(root, kAgentResultNames, inspection.name_case());
  AgentResult result;
  result.output = open_object(inspection, given(members, kOutput));
  result.content = optional_text(inspection, "RLT-03", given(members, kContent));
  if (const Place* usage = given(members, kAgentResultUsage))
    result.usage = inspect_usage_info(inspection, *usage);
  if (const Place* cost = given(members, kCost)) result.cost = inspect_cost(inspection, *cost);
  result.metadata = open_object(inspection, given(members, kAgentResultMetadata));
  const Place* error = given(members, kError);
  if (error != nullptr) result.error = inspect_agent_error(inspection, *error);
  inspect_finish_reason(inspection, result, given(members, kFinishReason), error != nullptr);
  if (const Place* state = given(members, kRateLimit)) {
    result.rate_limit = inspect_rate_limit(inspection, *state);
  }
  result.provider_data = inspect_provider_data(inspection, given(members, kProviderData));
  inspect_tool_calls(inspection, result, given(members, kAgentResultToolCalls));
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
                                kAgentResultNames);
}

void write(json::Writer& writer, const AgentResult& result) {
  const auto text = [&](AgentResultField field, const std::optional<std::string>& value) {
    if (value) writer.member(kAgentResultNames[field], *value);
  };
  const auto object = [&](AgentResultField field, const std::optional<json::ObjectText>& value) {
    if (!value) return;
    json::write(writer.name(kAgentResultNames[field]), *value);
  };
  const auto part = [&](AgentResultField field, const auto& value) {
    if (!value) return;
    writer.name(kAgentResultNames[field]);
    write(writer, *value);
  };
  writer.begin_object();
  object(kOutput, result.output);
  text(kContent, result.content);
  part(kAgentResultUsage, result.usage);
  part(kCost, result.cost);
  object(kAgentResultMetadata, result.metadata);
  text(kFinishReason, result.finish_reason);
  part(kError, result.error);
  part(kRateLimit, result.rate_limit);
  object(kProviderData, result.provider_data);
  part(kAgentResultToolCalls, result.tool_calls);
  text(kRenderedUserPrompt, result.rendered_user_prompt);
  writer.end_object();
}

std::string encode(const AgentResult& result) {
  json::Writer writer;
  write(writer, result);
  return writer.take();
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
