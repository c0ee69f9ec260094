#include "treaty/cli/shared/invoke_report.h"

#include <fmt/format.h>

#include "treaty/base/text.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using contracts::FinalResponse;
using contracts::InvokeError;

constexpr std::size_t kWidth = 200;

std::string_view next_step(std::string_view code, bool fatal) {
  if (code == "auth_error") return "check the provider's key: treaty config check shows which one";
  if (code == "rate_limit" || code == "overloaded" || code == "budget_exhausted")
    return "wait a while, then send it again";
  if (code == "context_length") return "send less, or begin a new session";
  if (code == "content_filter") return "say it in other words";
  if (code == "session_not_found") return "leave --session away to open a new one";
  if (code == "agent_not_found") return "see the agents of the configuration: treaty config check";
  if (code == "agent_mismatch") return "leave --agent away: the session has its agent already";
  if (code == "unauthenticated") return "give the key's variable with --key-env NAME";
  if (code == "turn_in_progress") return "";  // The message says it.
  return fatal ? "" : "try the same again later";
}

// Foreign text, cut at a character's end when it is long.
std::string shortened(std::string_view text) {
  std::string tame = harmless(text);
  if (tame.size() <= kWidth) return tame;
  return std::string(utf8_prefix(tame, kWidth)) + "…";
}

std::string indented(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    out += fmt::format("  {}\n", harmless(line.text));
    at = line.next;
  }
  return out;
}

}  // namespace

std::string failure_lines(std::string_view command, const contracts::Failure& failure) {
  std::string out;
  std::string_view next;
  for (const InvokeError& error : failure.errors) {
    out += fmt::format("treaty {}: {}: {}\n", command,
                       error.error_code.empty() ? "error" : harmless(error.error_code),
                       harmless(error.message));
    if (error.details) out += indented(*error.details);
    if (next.empty()) next = next_step(error.error_code, error.fatal_error);
  }
  if (!next.empty()) out += fmt::format("Next: {}\n", next);
  return out;
}

int exit_code_of(const contracts::Failure& failure) {
  const InvokeError& first = failure.errors.front();
  if (first.error_code == "store_unavailable") return kUnavailable;
  return first.fatal_error ? kViolated : kTryLater;
}

std::string remark_lines(const contracts::InvokeResult& result) {
  std::string out;
  for (const InvokeError& warning : result.warnings) {
    out += fmt::format("warning: {}\n", harmless(warning.message));
  }
  const auto* response = std::get_if<contracts::AgentExecuteResponse>(&result.outcome);
  const auto* last = response == nullptr ? nullptr : std::get_if<FinalResponse>(&response->kind);
  if (last == nullptr) return out;
  for (const std::string& warning : last->user_warnings.value_or(std::vector<std::string>())) {
    out += fmt::format("warning: {}\n", harmless(warning));
  }
  for (const contracts::FileRef& file : last->files.value_or(std::vector<contracts::FileRef>())) {
    out += fmt::format("file: {} ({}, {} bytes) {}\n", harmless(file.name),
                       harmless(file.mime_type), file.size_bytes, harmless(file.url));
  }
  return out;
}

std::string tokens_text(const contracts::AgentExecuteResponse& response) {
  const auto* last = std::get_if<FinalResponse>(&response.kind);
  if (last == nullptr || !last->usage) return "";
  return fmt::format("{} tokens in, {} out", last->usage->prompt_tokens,
                     last->usage->completion_tokens);
}

std::string call_text(const contracts::ToolCall& call) {
  return shortened(fmt::format("{}({})", call.name, call.arguments_json));
}

std::string waiting_lines(std::string_view command, std::string_view invoke_result) {
  const auto result =
      contracts::decode_invoke_result(invoke_result, {.profile = contracts::Profile::lenient});
  const auto* response =
      result ? std::get_if<contracts::AgentExecuteResponse>(&result->outcome) : nullptr;
  const auto* waiting = response == nullptr
                            ? nullptr
                            : std::get_if<contracts::ClientToolContinuation>(&response->kind);
  if (waiting == nullptr) return "";
  std::string out =
      fmt::format("treaty {}: turn {} of session {} waits for the results of\n", command,
                  harmless(response->turn_id), harmless(response->session_id));
  for (const contracts::ToolCall& call : waiting->tool_calls) {
    out += fmt::format("  {}\n", call_text(call));
  }
  return out;
}

bool is_in_progress(const std::optional<contracts::InvokeResult>& result) {
  const auto* failure = result ? std::get_if<contracts::Failure>(&result->outcome) : nullptr;
  return failure != nullptr && failure->errors.front().error_code == "turn_in_progress";
}

std::string result_text(const contracts::ToolResult& result) {
  if (const auto* failed = std::get_if<contracts::ErrorMessage>(&result.outcome)) {
    return shortened(fmt::format("failed: {}", failed->text));
  }
  return shortened(std::get<contracts::ResultJson>(result.outcome).text);
}

}  // namespace treaty::cli
