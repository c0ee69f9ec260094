#include "treaty/contracts/agent_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kErrorNames[] = {"message", "code", "type", "status_code", "retryable"};

constexpr std::array<std::string_view, 8> kErrorCodes = {
    "rate_limit", "timeout",        "server_error",   "invalid_request",
    "auth_error", "content_filter", "context_length", "model_unavailable"};

constexpr std::string_view kUsageNames[] = {
    "input_tokens",      "output_tokens",      "total_tokens",
    "cache_read_tokens", "cache_write_tokens", "api_calls",
};
constexpr std::array<std::optional<std::int64_t> UsageInfo::*, 6> kUsageFields = {
    &UsageInfo::input_tokens,      &UsageInfo::output_tokens,      &UsageInfo::total_tokens,
    &UsageInfo::cache_read_tokens, &UsageInfo::cache_write_tokens, &UsageInfo::api_calls};

constexpr std::string_view kCostNames[] = {"input", "output", "cache_read", "cache_write", "total"};
constexpr std::array<std::optional<double> CostInfo::*, 5> kCostFields = {
    &CostInfo::input, &CostInfo::output, &CostInfo::cache_read, &CostInfo::cache_write,
    &CostInfo::total};

constexpr std::string_view kLimitNames[] = {"limited", "retry_after", "windows"};

constexpr std::string_view kWindowNames[] = {"name",  "resource",  "remaining",
                                             "limit", "resets_in", "reset_at"};
constexpr std::size_t kFirstNumber = 2;
constexpr std::array<std::optional<Number> RateLimitWindow::*, 4> kWindowNumbers = {
    &RateLimitWindow::remaining, &RateLimitWindow::limit, &RateLimitWindow::resets_in,
    &RateLimitWindow::reset_at};

constexpr std::string_view kProviderNames[] = {"provider", "model", "request_id", "raw_headers"};

std::string string_or_empty(Inspection& inspection, RuleId rule, const Place* place) {
  return inspection.optional_text(rule, place).value_or("");
}

void inspect_status_code(Inspection& inspection, AgentError& error, const Place* place) {
  error.status_code = inspection.integer("RLT-05", place);
  if (error.status_code && (*error.status_code < 100 || *error.status_code > 599)) {
    inspection.refuse("RLT-05", *place, "status_code is an HTTP status, 100 to 599");
  }
}

RateLimitWindow inspect_window(Inspection& inspection, const Place& place) {
  RateLimitWindow window;
  if (!inspection.is_object("RLT-09", &place)) return window;
  const KnownMembers<kWindowNames> members(inspection, place);
  window.name = string_or_empty(inspection, "RLT-09", members.required("RLT-09", "name"));
  window.resource = string_or_empty(inspection, "RLT-09", members.required("RLT-09", "resource"));
  for (std::size_t i = 0; i < kWindowNumbers.size(); ++i) {
    window.*kWindowNumbers[i] =
        inspection.number("RLT-09", unless_null(members.at(kFirstNumber + i)));
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
  if (!inspection.is_object("RLT-05", &place)) return error;
  const KnownMembers<kErrorNames> members(inspection, place);
  error.message = members.required_text("RLT-05", "message");
  error.code = inspection.optional_text("RLT-05", members.not_null("code"));
  if (error.code && std::ranges::find(kErrorCodes, *error.code) == kErrorCodes.end()) {
    inspection.warn("RLT-05", *members["code"],
                    fmt::format("\"{}\" is not one of the known error codes", *error.code));
  }
  error.type = inspection.optional_text("RLT-05", members.not_null("type"));
  inspect_status_code(inspection, error, members.not_null("status_code"));
  if (const Place* retryable = members.not_null("retryable");
      inspection.is_boolean("RLT-05", retryable)) {
    error.retryable = retryable->value.boolean();
  }
  return error;
}

// RLT-06.
UsageInfo inspect_usage_info(Inspection& inspection, const Place& place) {
  UsageInfo usage;
  if (!inspection.is_object("RLT-06", &place)) return usage;
  const KnownMembers<kUsageNames> members(inspection, place);
  for (std::size_t i = 0; i < kUsageFields.size(); ++i) {
    usage.*kUsageFields[i] = inspection.integer("RLT-06", unless_null(members.at(i)), 0);
  }
  std::int64_t sum = 0;
  if (usage.input_tokens && usage.output_tokens && usage.total_tokens &&
      (__builtin_add_overflow(*usage.input_tokens, *usage.output_tokens, &sum) ||
       sum != *usage.total_tokens)) {
    inspection.warn("RLT-06", *members["total_tokens"],
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
  const KnownMembers<kCostNames> members(inspection, place);
  for (std::size_t i = 0; i < kCostFields.size(); ++i) {
    if (const auto number = inspection.number("RLT-07", unless_null(members.at(i)))) {
      cost.*kCostFields[i] = number->value();
    }
  }
  return cost;
}

// RLT-08, RLT-09.
RateLimitState inspect_rate_limit(Inspection& inspection, const Place& place) {
  RateLimitState state;
  if (!inspection.is_object("RLT-08", &place)) return state;
  const KnownMembers<kLimitNames> members(inspection, place);
  const Place* limited = members.required("RLT-08", "limited");
  if (inspection.is_boolean("RLT-08", limited)) state.limited = limited->value.boolean();
  state.retry_after = inspection.number("RLT-08", members.not_null("retry_after"));
  if (state.retry_after && state.retry_after->value() < 0) {
    inspection.refuse("RLT-08", *members["retry_after"], "retry_after is negative");
  }
  const Place* windows = members.not_null("windows");
  if (!inspection.is_array("RLT-08", windows)) return state;
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
  const KnownMembers<kProviderNames> members(inspection, provider_data);
  inspection.optional_text("RLT-10", members.not_null("provider"));
  inspection.optional_text("RLT-10", members.not_null("model"));
  inspection.optional_text("RLT-10", members.not_null("request_id"));
  const Place* headers = members.not_null("raw_headers");
  if (!inspection.is_object("RLT-10", headers)) return;
  for (const json::Member header : headers->value.members()) {
    const Place place{.value = header.value, .parent = headers, .name = header.name.text()};
    if (std::ranges::any_of(place.name, is_upper)) {
      inspection.refuse("RLT-10", place, "names of headers are in lower case");
    }
    inspection.is_string("RLT-10", &place);
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
  if (error.code) writer.member("code", *error.code);
  if (error.type) writer.member("type", *error.type);
  writer.member("message", error.message);
  if (error.status_code) writer.member("status_code", *error.status_code);
  if (error.retryable) writer.member("retryable", *error.retryable);
  writer.end_object();
}

void write(json::Writer& writer, const UsageInfo& usage) {
  writer.begin_object();
  write_numbers(writer, usage, kUsageNames, kUsageFields);
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
  writer.member("limited", state.limited);
  if (state.retry_after) writer.member("retry_after", *state.retry_after);
  if (!state.windows.empty()) {
    writer.name("windows").objects(state.windows, [&](const RateLimitWindow& window) {
      writer.member("name", window.name).member("resource", window.resource);
      write_numbers(writer, window, kWindowNames, kWindowNumbers, kFirstNumber);
    });
  }
  writer.end_object();
}

std::string written(const auto& part) {
  json::Writer writer;
  write(writer, part);
  return writer.take();
}

void write(json::Writer& writer, const std::vector<AgentToolCall>& calls) {
  writer.objects(calls, [&](const AgentToolCall& call) {
    writer.member("id", call.id).member("name", call.name).member("arguments", call.arguments);
  });
}

using ResultMembers = KnownMembers<kAgentResultNames>;

constexpr std::array<std::string_view, 6> kFinishReasons = {"stop",  "length",         "tool_use",
                                                            "error", "content_filter", "aborted"};

// RLT-03.
std::optional<json::ObjectText> open_object(Inspection& inspection, const Place* place) {
  if (!inspection.is_object("RLT-03", place)) return std::nullopt;
  return json::ObjectText::of(place->value);
}

void inspect_finish_reason(Inspection& inspection, AgentResult& result, const Place* reason,
                           bool failed) {
  result.finish_reason = inspection.optional_text("RLT-04", reason);
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
  const ResultMembers members(inspection, root);
  AgentResult result;
  result.output = open_object(inspection, members.not_null("output"));
  result.content = inspection.optional_text("RLT-03", members.not_null("content"));
  if (const Place* usage = members.not_null("usage"))
    result.usage = inspect_usage_info(inspection, *usage);
  if (const Place* cost = members.not_null("cost")) result.cost = inspect_cost(inspection, *cost);
  result.metadata = open_object(inspection, members.not_null("metadata"));
  const Place* error = members.not_null("error");
  if (error != nullptr) result.error = inspect_agent_error(inspection, *error);
  inspect_finish_reason(inspection, result, members.not_null("finish_reason"), error != nullptr);
  if (const Place* state = members.not_null("rate_limit")) {
    result.rate_limit = inspect_rate_limit(inspection, *state);
  }
  const Place* provider_data = members.not_null("provider_data");
  result.provider_data = open_object(inspection, provider_data);
  if (result.provider_data) inspect_provider_members(inspection, *provider_data);
  inspect_tool_calls(inspection, result, members.not_null("tool_calls"));
  inspect_prompt(inspection, result, members.not_null("rendered_user_prompt"));
  if (members["raw"] != nullptr) {
    inspection.refuse("RLT-02", *members["raw"], "raw never leaves the process", "leave it out");
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

void write(json::Writer& writer, const AgentResult& result, Content content) {
  const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) writer.member(name, *value);
  };
  const auto object = [&](std::string_view name, const std::optional<json::ObjectText>& value) {
    if (!value) return;
    json::write(writer.name(name), *value);
  };
  const auto part = [&](std::string_view name, const auto& value) {
    if (!value) return;
    writer.name(name);
    write(writer, *value);
  };
  writer.begin_object();
  object("output", result.output);
  if (content == Content::written) text("content", result.content);
  part("usage", result.usage);
  part("cost", result.cost);
  object("metadata", result.metadata);
  text("finish_reason", result.finish_reason);
  part("error", result.error);
  part("rate_limit", result.rate_limit);
  object("provider_data", result.provider_data);
  part("tool_calls", result.tool_calls);
  text("rendered_user_prompt", result.rendered_user_prompt);
  writer.end_object();
}

std::size_t text_bytes(const AgentResult& result) {
  std::size_t bytes = 0;
  for (const auto* object : {&result.output, &result.metadata, &result.provider_data}) {
    if (*object) bytes += (*object)->text().size();
  }
  for (const auto* text : {&result.content, &result.rendered_user_prompt}) {
    if (*text) bytes += (*text)->size();
  }
  if (result.error) bytes += result.error->message.size();
  if (result.tool_calls) {
    for (const AgentToolCall& call : *result.tool_calls) bytes += call.arguments.size();
  }
  return bytes;
}

std::string encode(const AgentResult& result) { return written(result); }
std::string encode(const RateLimitState& state) { return written(state); }
std::string encode(const AgentError& error) { return written(error); }

}  // namespace treaty::contracts
