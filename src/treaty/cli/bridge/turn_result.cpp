#include "treaty/cli/bridge/turn_result.h"

#include <fmt/format.h>

#include "treaty/backends/bridge/asker.h"
#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/turns/settings.h"

namespace treaty::cli {
namespace {

using contracts::AgentResult;

// The data of the last attempt that was made, as text; empty when there was none.
std::string last_attempt(std::span<const DiaryEntry> diary) {
  for (std::size_t i = diary.size(); i > 0; --i) {
    const std::string& kind = diary[i - 1].kind;
    if (kind == "attempt.completed" || kind == "attempt.failed") return diary[i - 1].data;
  }
  return {};
}

contracts::UsageInfo usage_of(const contracts::Usage& usage) {
  return {.input_tokens = usage.prompt_tokens,
          .output_tokens = usage.completion_tokens,
          .total_tokens = usage.total_tokens,
          .cache_read_tokens = usage.cached_tokens};
}

void take_attempt(AgentResult& result, const std::string& attempt) {
  if (attempt.empty()) return;
  const json::Document document(attempt);
  const auto root = document.root();
  boost::json::object data;
  const auto keep = [&](std::string_view name, std::string_view as) {
    const std::string_view text = json::find_text(root, name);
    if (!text.empty()) data[as] = text;
  };
  keep("Model", "model");
  keep("RequestId", "request_id");
  if (!data.empty()) result.provider_data = std::move(data);
  const auto status = json::find_member(root, "Status");
  if (result.error && status && status->is_number()) result.error->status_code = status->integer();
}

}  // namespace

contracts::UserTurn turn_of(const contracts::BridgeRequest& request, const std::string& agent) {
  contracts::UserTurn turn{.instruction = request.prompt};
  boost::json::object context = request.context;
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

AgentResult result_of(const contracts::InvokeResult& result, std::span<const DiaryEntry> diary) {
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
      boost::json::array warnings;
      for (const std::string& warning : *last->user_warnings) warnings.emplace_back(warning);
      out.metadata = {{"user_warnings", std::move(warnings)}};
    }
  }
  take_attempt(out, last_attempt(diary));
  return out;
}

bridge::AnsweredBy answered_by(const std::string& agent, std::span<const DiaryEntry> diary) {
  bridge::AnsweredBy who{.agent = agent.empty() ? turns::kDefaultAgent : agent};
  const std::string attempt = last_attempt(diary);
  const json::Document document(attempt);
  who.backend = json::find_text(document.root(), "Backend");
  who.model = json::find_text(document.root(), "Model");
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
