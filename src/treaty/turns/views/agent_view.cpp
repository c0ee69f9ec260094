#include "treaty/turns/views/agent_view.h"

#include <ranges>

#include "treaty/turns/settled_turn.h"

namespace treaty::turns {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using store::TurnState;

std::vector<contracts::AgentToolCall> tool_calls_of(const contracts::ClientToolContinuation& ask) {
  std::vector<contracts::AgentToolCall> calls;
  calls.reserve(ask.tool_calls.size());
  for (const contracts::ToolCall& call : ask.tool_calls) {
    calls.push_back({call.tool_call_id, call.name, call.arguments_json});
  }
  return calls;
}

// A turn that ended while it waited for tools has no answer of its own that says so.
AgentError error_of_turn(const store::Turn& turn, const SettledTurn& round) {
  AgentError error{.message = "the turn ended before its tools were answered",
                   .code = turn.error_code,
                   .retryable = turn.retryable};
  if (const auto* answer = std::get_if<AnswerError>(&round.answer)) {
    error = {.message = answer->message, .code = answer->code, .retryable = !answer->is_fatal};
  }
  if (round.result.error) error.status_code = round.result.error->status_code;
  return error;
}

// What may be known of the provider; its headers stay here.
std::optional<json::ObjectText> provider_data_of(const AgentResult& result) {
  if (!result.provider_data) return std::nullopt;
  json::ObjectText data;
  for (const std::string_view name : {"model", "request_id"}) {
    const auto text = result.provider_data->find_text(name);
    if (text && !text->empty()) data.add(name, *text);
  }
  return data.empty() ? std::nullopt : std::optional(std::move(data));
}

AgentResult result_of_round(const store::Turn& turn, SettledTurn round) {
  AgentResult result{.usage = round.result.usage,
                     .cost = round.result.cost,
                     .finish_reason = round.result.finish_reason.value_or("stop"),
                     .provider_data = provider_data_of(round.result)};
  if (store::is_dead(turn.state)) {
    result.error = error_of_turn(turn, round);
    result.finish_reason = turn.state == TurnState::cancelled ? "aborted" : "error";
  } else {
    result.content = std::move(round.result.content);
    if (!result.content) result.output = std::move(round.result.output);
  }
  const auto* ask = std::get_if<contracts::ClientToolContinuation>(&round.answer);
  if (ask != nullptr && turn.state == TurnState::awaiting_tools) {
    result.tool_calls = tool_calls_of(*ask);
  }
  return result;
}

}  // namespace

std::optional<AgentResult> agent_view(const store::TurnRecord& record) {
  if (record.turn.state == TurnState::accepted) return std::nullopt;
  std::optional<AgentResult> result;
  for (const store::Round& round : std::views::reverse(record.rounds)) {
    if (!round.answer) continue;
    auto settled = decode_settled_turn(round.answer->result, round.answer->transcript);
    if (!settled) return std::nullopt;
    const std::string backend = settled->backend;
    const std::string model = settled->model;
    if (!result) result = result_of_round(record.turn, *std::move(settled));
    if (backend.empty()) continue;  // The round ended before it asked; an earlier one did.
    result->metadata = json::ObjectText{{"backend", backend}};
    if (!model.empty()) result->metadata->add("model", model);
    break;
  }
  return result;
}

}  // namespace treaty::turns
