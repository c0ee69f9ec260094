#include "treaty/cli/bridge/turn_result.h"

#include <fmt/format.h>

#include "treaty/backends/bridge/asker.h"
#include "treaty/base/json_write.h"
#include "treaty/turns/settings.h"

namespace treaty::cli {
namespace {

using contracts::AgentResult;

contracts::UsageInfo usage_of(const contracts::Usage& usage) {
  return {.input_tokens = usage.prompt_tokens,
          .output_tokens = usage.completion_tokens,
          .total_tokens = usage.total_tokens,
          .cache_read_tokens = usage.cached_tokens};
}

// Whom the round asked last, and what the provider said of the call.
void take_round(AgentResult& result, const turns::SettledTurn& round) {
  json::ObjectText data;
  if (!round.model.empty()) data.add("model", round.model);
  if (round.result.provider_data) {
    const auto id = round.result.provider_data->find_text("request_id").value_or("");
    if (!id.empty()) data.add("request_id", id);
  }
  if (!data.empty()) result.provider_data = std::move(data);
  if (result.error && round.result.error) {
    result.error->status_code = round.result.error->status_code;
  }
}

}  // namespace

contracts::UserTurn turn_of(const contracts::BridgeRequest& request, const std::string& agent) {
  contracts::UserTurn turn{.instruction = request.prompt};
  json::ObjectText context = request.context;
  context.erase(backends::kAskedBy);  // Which process asks is nothing to the agent.
  if (!context.empty()) {
    json::Writer writer(json::Layout::indented);
    json::write(writer, context);
    turn.input_artifacts.push_back({.relative_path = "context.json",
                                    .file_name = "context.json",
                                    .contents = writer.take(),
                                    .mime_type = "application/json"});
  }
  if (!agent.empty()) turn.agent_context_id = agent;
  return turn;
}

AgentResult result_of(const contracts::InvokeResult& result,
                      const std::optional<turns::SettledTurn>& round) {
  AgentResult out;
  if (const auto* failure = std::get_if<contracts::Failure>(&result.outcome)) {
    const contracts::InvokeError& first = failure->errors.front();
    std::string message = first.message;
    if (first.details) message += fmt::format(": {}", *first.details);
    out.finish_reason = "error";
    out.error = contracts::AgentError{
        .message = std::move(message),
        .code = first.error_code.empty() ? std::optional<std::string>() : first.error_code,
        .retryable = !first.fatal_error};
  } else {
    const auto& response = std::get<contracts::AgentExecuteResponse>(result.outcome);
    const auto* last = std::get_if<contracts::FinalResponse>(&response.kind);
    out.content = last == nullptr ? "" : last->primary_output_text;
    out.finish_reason = "stop";
    if (last != nullptr && last->usage) out.usage = usage_of(*last->usage);
    if (last != nullptr && last->user_warnings) {
      out.metadata = json::ObjectText{{"user_warnings", *last->user_warnings}};
    }
  }
  if (round) take_round(out, *round);
  return out;
}

bridge::AnsweredBy answered_by(const std::string& agent,
                               const std::optional<turns::SettledTurn>& round) {
  bridge::AnsweredBy who{.agent = agent.empty() ? turns::kDefaultAgent : agent};
  if (round) {
    who.backend = round->backend;
    who.model = round->model;
  }
  return who;
}

AgentResult timed_out(std::int64_t seconds) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{
              .message = fmt::format("the agent did not answer within {} second{}", seconds,
                                     seconds == 1 ? "" : "s"),
              .code = "timeout",
              .type = "Deadline",
              .retryable = true}};
}

}  // namespace treaty::cli
