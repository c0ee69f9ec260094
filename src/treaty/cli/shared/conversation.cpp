#include "treaty/cli/shared/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/shared/invoke_report.h"

namespace treaty::cli {
namespace {

using contracts::AgentExecuteResponse;
using contracts::ClientToolContinuation;
using contracts::Failure;
using contracts::FinalResponse;
using contracts::ToolCall;
using contracts::ToolContinuation;
using contracts::ToolResult;

// A server has its own bound; this one is against a server that has none.
constexpr int kMostRounds = 64;

}  // namespace

ToolReply ask_result(LineInput& input, const tools::ToolInvocation& call) {
  using Kind = LineInput::Read::Kind;
  const auto read = input.next(fmt::format(
      "result of {} (JSON or text; nothing: it failed; /cancel) › ", harmless(call.name)));
  if (read.kind == Kind::end) return std::unexpected(Unanswered::left);
  if (read.kind != Kind::line || trimmed(read.line) == "/cancel") {
    return std::unexpected(Unanswered::cancelled);
  }
  if (is_blank(read.line)) return tools::failed_outcome("The user gave no result.");
  if (!is_utf8(read.line)) return tools::failed_outcome("What the user typed is not UTF-8.");
  return tools::ToolOutcome{.content = read.line};
}

void Conversation::tell(const std::string& lines) const {
  if (options_.tell) {
    options_.tell(lines);
  } else {
    print_error("{}", lines);
  }
}

void Conversation::show_text(std::string_view delta) {
  if (options_.quiet_text) return;
  shown_ += delta;
  output_.write(delta);
}

// The text that counts is the one of the result; mostly all of it has been shown by then.
void Conversation::show_final(const FinalResponse& last) {
  if (options_.quiet_text) return;
  const std::string_view text = last.primary_output_text;
  if (text.starts_with(shown_)) {
    output_.write(text.substr(shown_.size()));
  } else if (trimmed(text) != trimmed(shown_)) {
    output_.end_line();
    tell("note: the text was changed before it was kept; it reads:\n");
    output_.write(text);
  }
  output_.end_line();
}

TurnEnd Conversation::end_of(TurnAnswer answer) const {
  TurnEnd end{.exit_code = kUnavailable, .signal = answer.signal};
  if (answer.invoke_result.empty()) {
    if (answer.signal == 0) tell(fmt::format("treaty {}: {}\n", options_.command, answer.failure));
    return end;
  }
  end.invoke_result = std::move(answer.invoke_result);
  auto decoded =
      contracts::decode_invoke_result(end.invoke_result, {.profile = contracts::Profile::lenient});
  if (!decoded) {
    const contracts::Finding& first = decoded.error().front();
    tell(fmt::format("treaty {}: the answer is no InvokeResult: {} {}: {}\n", options_.command,
                     first.rule.text(), harmless(first.where), harmless(first.message)));
    end.exit_code = kViolated;
    return end;
  }
  end.result = std::move(*decoded);
  const auto* failure = std::get_if<Failure>(&end.result->outcome);
  end.exit_code = failure == nullptr ? kOk : exit_code_of(*failure);
  return end;
}

ToolReply Conversation::answer_call(const ToolCall& call) {
  const tools::ToolInvocation invocation{
      .id = call.tool_call_id, .name = call.name, .arguments = call.arguments_json};
  if (commands_.has(call.name)) {
    auto outcome = run_here(commands_, invocation, signals_.descriptor());
    if (!outcome) return std::unexpected(Unanswered::cancelled);
    return *std::move(outcome);
  }
  if (options_.ask_user) return options_.ask_user(invocation);
  return tools::failed_outcome(fmt::format("This client cannot run the tool {}.", call.name));
}

std::expected<std::vector<ToolResult>, Unanswered> Conversation::answer_calls(
    const ClientToolContinuation& waiting) {
  std::vector<ToolResult> results;
  for (const ToolCall& call : waiting.tool_calls) {
    tell(painted("→ " + call_text(call), Color::blue, options_.colors) + "\n");
    const auto began = std::chrono::steady_clock::now();
    TREATY_TRY(const auto outcome, answer_call(call));
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    results.push_back({call.tool_call_id, took.count(), contract_outcome(outcome)});
    const std::string came = fmt::format("← {} ms {}", took.count(), result_text(results.back()));
    tell(painted(came, Color::blue, options_.colors) + "\n");
  }
  return results;
}

TurnEnd Conversation::unanswered(const AgentExecuteResponse& waiting, Unanswered why) {
  const bool gone =
      why == Unanswered::cancelled && client_.cancel(waiting.session_id, waiting.turn_id);
  tell(gone ? "The turn is cancelled.\n" : "The turn still waits for its tools.\n");
  return {.exit_code = kViolated, .signal = signals_.take().value_or(0), .waits = !gone};
}

TurnAnswer Conversation::ask(const contracts::AgentExecuteRequest& request) {
  shown_.clear();
  return client_.ask(request, [this](std::string_view delta) { show_text(delta); });
}

TurnEnd Conversation::turn(const contracts::AgentExecuteRequest& request) {
  return follow(ask(request));
}

TurnEnd Conversation::resume(std::string invoke_result) {
  TurnEnd end = end_of({.invoke_result = invoke_result});
  const auto* response =
      end.result ? std::get_if<AgentExecuteResponse>(&end.result->outcome) : nullptr;
  const auto* waiting =
      response == nullptr ? nullptr : std::get_if<ClientToolContinuation>(&response->kind);
  const auto has_command = [this](const ToolCall& call) { return commands_.has(call.name); };
  if (waiting != nullptr && !options_.ask_user &&
      !std::ranges::all_of(waiting->tool_calls, has_command)) {
    end.exit_code = kViolated;
    end.waits = true;
    return end;
  }
  shown_.clear();
  return follow({.invoke_result = std::move(invoke_result)});
}

TurnEnd Conversation::follow(TurnAnswer answer) {
  for (int round = 0;; ++round) {
    TurnEnd end = end_of(std::move(answer));
    if (!end.result) {
      output_.end_line();
      return end;
    }
    if (const auto* failure = std::get_if<Failure>(&end.result->outcome)) {
      output_.end_line();
      tell(failure_lines(options_.command, *failure));
      return end;
    }
    const auto& response = std::get<AgentExecuteResponse>(end.result->outcome);
    if (const auto* last = std::get_if<FinalResponse>(&response.kind)) {
      show_final(*last);
      tell(remark_lines(*end.result));
      return end;
    }
    output_.end_line();
    const auto& waiting = std::get<ClientToolContinuation>(response.kind);
    if (shown_.empty() && waiting.tool_continuation_message) {
      tell(harmless(*waiting.tool_continuation_message) + "\n");
    }
    if (round >= kMostRounds) return unanswered(response, Unanswered::cancelled);
    auto results = answer_calls(waiting);
    if (!results) return unanswered(response, results.error());
    answer = ask({response.session_id, response.turn_id, ToolContinuation{*std::move(results)}});
  }
}

}  // namespace treaty::cli
