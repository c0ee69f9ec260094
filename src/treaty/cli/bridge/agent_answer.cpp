#include "treaty/cli/bridge/agent_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "treaty/backends/bridge/slots.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/bridge/exchange.h"
#include "treaty/turns/seal.h"
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

// A text of an object that may be absent.
std::string find_text(const std::optional<json::ObjectText>& object, std::string_view name) {
  return object ? object->find_text(name).value_or("") : std::string();
}

// The model that was asked, and the provider's name for the call.
std::optional<json::ObjectText> call_of(const AgentResult& said) {
  json::ObjectText data;
  const std::string model = find_text(said.metadata, "model");
  const std::string id = find_text(said.provider_data, "request_id");
  if (!model.empty()) data.add("model", model);
  if (!id.empty()) data.add("request_id", id);
  return data.empty() ? std::nullopt : std::optional(std::move(data));
}

// The warnings about the answer, without those about what the seal did to it: the bridge has the
// text as it was.
std::vector<std::string> warnings_of(const contracts::FinalResponse& last,
                                     const std::string& text) {
  std::vector<std::string> warnings = last.user_warnings.value_or(std::vector<std::string>());
  const std::vector<std::string> of_seal = turns::seal(text).user_warnings;
  std::erase_if(warnings, [&](const std::string& warning) {
    return std::ranges::find(of_seal, warning) != of_seal.end();
  });
  return warnings;
}

contracts::AgentError empty_answer(bool was_cut) {
  return {.message = was_cut ? "the agent gave no text before its answer reached the length limit"
                             : "the agent gave an empty answer",
          .code = "server_error",
          .type = "EmptyAnswer",
          .retryable = !was_cut};
}

AgentResult result_of_success(const contracts::AgentExecuteResponse& response,
                              const AgentResult& said) {
  AgentResult out{.finish_reason = said.finish_reason.value_or("stop")};
  const auto* last = std::get_if<contracts::FinalResponse>(&response.kind);
  if (last != nullptr) {
    out.content = said.content;
    if (!out.content && said.output) out.content = said.output->text();
    if (last->usage) out.usage = usage_of(*last->usage);
    const auto warnings = warnings_of(*last, out.content.value_or(""));
    if (!warnings.empty()) out.metadata = json::ObjectText{{"user_warnings", warnings}};
  }
  if (is_blank(out.content.value_or(""))) {
    out.error = empty_answer(out.finish_reason == "length");
    out.finish_reason = "error";
  }
  return out;
}

AgentResult result_of_failure(const contracts::InvokeError& error) {
  std::string message = error.message;
  if (error.details) message += fmt::format(": {}", *error.details);
  return {.finish_reason = "error",
          .error = contracts::AgentError{
              .message = std::move(message),
              .code = error.error_code.empty() ? std::optional<std::string>() : error.error_code,
              .retryable = !error.fatal_error}};
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
                      const std::optional<AgentResult>& said) {
  const auto* failure = std::get_if<contracts::Failure>(&result.outcome);
  AgentResult out =
      failure != nullptr
          ? result_of_failure(failure->errors.front())
          : result_of_success(std::get<contracts::AgentExecuteResponse>(result.outcome),
                              said.value_or(AgentResult()));
  if (!said) return out;
  out.provider_data = call_of(*said);
  if (out.error && said->error) out.error->status_code = said->error->status_code;
  return out;
}

bridge::AnsweredBy answered_by(const std::string& agent, const std::optional<AgentResult>& said) {
  bridge::AnsweredBy who{.agent = agent.empty() ? turns::kDefaultAgent : agent};
  if (said) {
    who.backend = find_text(said->metadata, "backend");
    who.model = find_text(said->metadata, "model");
  }
  return who;
}

std::optional<std::string> unfollowed_model(const contracts::BridgeRequest& request,
                                            const AgentResult& said) {
  const bool was_asked = !find_text(said.metadata, "backend").empty();
  if (!was_asked || !request.model || is_blank(*request.model)) return std::nullopt;
  const bool is_followed = *request.model == find_text(said.metadata, "model") ||
                           *request.model == find_text(said.provider_data, "model");
  return is_followed ? std::nullopt : request.model;
}

AgentResult timed_out(std::int64_t seconds, std::string_view last_failure) {
  std::string message =
      fmt::format("the agent did not answer within {} second{}", seconds, seconds == 1 ? "" : "s");
  if (!last_failure.empty()) {
    message += fmt::format("; the last attempt that failed: {}", last_failure);
  }
  return {
      .finish_reason = "error",
      .error = contracts::AgentError{
          .message = std::move(message), .code = "timeout", .type = "Deadline", .retryable = true}};
}

AgentResult too_large() {
  return {.finish_reason = "error",
          .error = contracts::AgentError{
              .message = fmt::format("the agent's answer does not fit into a response file, which "
                                     "has at most {} MiB; ask for less at once",
                                     bridge::kLargestFile >> 20U),
              .code = "server_error",
              .type = "AnswerTooLarge",
              .retryable = false}};
}

}  // namespace treaty::cli
