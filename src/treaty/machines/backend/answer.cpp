#include "treaty/machines/backend/answer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "treaty/backends/backend.h"
#include "treaty/base/hash.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/number.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

using contracts::AgentError;
using contracts::AgentResult;

std::string text_in(const backends::UserMessage& message) {
  std::string text;
  for (const backends::Part& part : message.parts) {
    const auto* words = std::get_if<backends::TextPart>(&part);
    if (words == nullptr) continue;
    if (!text.empty()) text += "\n";
    text += words->text;
  }
  return text;
}

Object told(const backends::UserMessage& message) {
  return {{"role", "user"}, {"content", text_in(message)}};
}

Object told(const backends::AssistantMessage& message) {
  Object told = {{"role", "assistant"}, {"content", message.text}};
  if (message.tool_calls.empty()) return told;
  List calls;
  for (const auto& call : message.tool_calls) {
    calls.emplace_back(Object{{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  }
  told["tool_calls"] = std::move(calls);
  return told;
}

Object told(const backends::ToolMessage& message) {
  return {{"role", "tool"},
          {"tool_call_id", message.tool_call_id},
          {"name", message.tool_name},
          {"content", message.content},
          {"is_error", message.failed}};
}

// What a person shall read.
std::string content_of(const Dynamic& output) {
  if (output.is_string()) return std::string(output.get_string());
  const auto* members = output.if_object();
  if (members == nullptr) return json::to_json(output);
  for (const std::string_view name : {"content", "text", "answer"}) {
    const Dynamic found = value_in(*members, name);
    if (found.is_string()) return std::string(found.get_string());
  }
  if (members->size() == 1 && members->begin()->value().is_string()) {
    return std::string(members->begin()->value().get_string());
  }
  return json::to_json(output);
}

AgentError error_in(const Object& error) {
  std::string code = text_of(error, "code");
  // For whoever asks, agent_not_found is about the agent that they named.
  if (code == "agent_not_found") code = "model_unavailable";
  AgentError told{.message = text_of(error, "message"),
                  .code = code.empty() ? "server_error" : code,
                  .type = text_of(error, "type"),
                  .retryable = is_retryable(error)};
  const Dynamic status = value_in(error, "status_code");
  if (status.is_int64()) told.status_code = status.get_int64();
  return told;
}

AgentResult waiting(const Outcome& outcome) {
  if (outcome.tool_calls.empty()) {
    return backends::failed_result(
        "machine_waiting", "MachineWaiting",
        fmt::format("the machine waits for a signal on {0}; send it (treaty machine signal {0} "
                    "DATA), then send the same request again",
                    outcome.channel),
        true);
  }
  AgentResult result{.finish_reason = "tool_use"};
  auto& calls = result.tool_calls.emplace();
  for (const Dynamic& value : outcome.tool_calls) {
    const auto* call = value.if_object();
    if (call == nullptr) continue;
    calls.push_back({.id = public_id_of(text_of(*call, "key")),
                     .name = text_of(*call, "name"),
                     .arguments = text_of(*call, "arguments")});
  }
  return result;
}

AgentResult result_by_status(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::completed: {
      AgentResult result{.content = content_of(outcome.output), .finish_reason = "stop"};
      if (const auto* output = outcome.output.if_object()) result.output = json::to_text(*output);
      return result;
    }
    case Status::failed: return {.finish_reason = "error", .error = error_in(outcome.error)};
    case Status::waiting: return waiting(outcome);
    case Status::interrupted: return backends::aborted_result();
    case Status::lost: break;
  }
  return result_of(outcome.trouble);
}

using Count = std::optional<std::int64_t>;

void add_count(Count& total, const Object& usage, std::string_view name) {
  const Dynamic found = value_in(usage, name);
  if (!found.is_int64()) return;
  total = saturating_sum(total.value_or(0), std::max<std::int64_t>(found.get_int64(), 0));
}

}  // namespace

Object input_of(const backends::Call& call) {
  std::string newest;
  List messages;
  for (const backends::Message& message : call.messages) {
    if (const auto* user = std::get_if<backends::UserMessage>(&message)) newest = text_in(*user);
    messages.emplace_back(std::visit([](const auto& kind) { return told(kind); }, message));
  }
  return {{"message", newest}, {"messages", std::move(messages)}, {"system", call.system}};
}

std::string public_id_of(std::string_view key) {
  constexpr std::size_t kDigits = 24;
  return "call_" + sha256_hex(key).substr(0, kDigits);
}

AgentResult result_of(const Outcome& outcome) {
  AgentResult result = result_by_status(outcome);
  result.provider_data =
      json::ObjectText{{"provider", "machine"}, {"execution_id", outcome.execution}};
  return result;
}

AgentResult result_of(const Error& trouble) {
  const bool is_taken = trouble.code == ErrorCode::conflict;
  const bool passes = is_taken || trouble.code == ErrorCode::unavailable;
  return backends::failed_result("server_error", is_taken ? "ExecutionTaken" : "ExecutionLost",
                                 fmt::format("the machine cannot go on: {}", trouble.message),
                                 passes);
}

void Tally::add(const Dynamic& result) {
  const auto* members = result.if_object();
  if (members == nullptr) {
    ++calls_;
    return;
  }
  const Spent spent = spent_by(*members);
  calls_ += spent.api_calls;
  if (members->contains("cost") && std::isfinite(cost_.value_or(0) + spent.cost)) {
    cost_ = cost_.value_or(0) + spent.cost;
  }
  const Object* usage = object_in(*members, "usage");
  if (usage == nullptr) return;
  contracts::UsageInfo& total = usage_ ? *usage_ : usage_.emplace();
  add_count(total.input_tokens, *usage, "input_tokens");
  add_count(total.output_tokens, *usage, "output_tokens");
  add_count(total.total_tokens, *usage, "total_tokens");
  add_count(total.cache_read_tokens, *usage, "cache_read_tokens");
  add_count(total.cache_write_tokens, *usage, "cache_write_tokens");
}

void Tally::give_to(AgentResult& result) const {
  if (usage_) {
    result.usage = *usage_;
    result.usage->api_calls = calls_;
  }
  if (cost_) result.cost = *cost_;
}

}  // namespace treaty::machines
