// An InvokeResult for people: what failed and what to do next, warnings, files, tokens; and the
// exit code of it all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/contracts/invoke_result.h"

namespace treaty::cli {

// Each error with its code, its details below it, and the next step where there is one.
std::string failure_lines(std::string_view command, const contracts::Failure& failure);

int exit_code_of(const contracts::Failure& failure);

// A line for each warning, of the system and of the answer, and for each file.
std::string remark_lines(const contracts::InvokeResult& result);

// "12 tokens in, 3 out"; empty when usage was not told.
std::string tokens_text(const contracts::AgentExecuteResponse& response);

// `name({"argument": …})`, on one line and not longer than a screen's.
std::string call_text(const contracts::ToolCall& call);
std::string result_text(const contracts::ToolResult& result);

// Which turn waits, and a line for each call that it waits for; `invoke_result` is its last answer.
std::string waiting_lines(std::string_view command, std::string_view invoke_result);

// Whether it was refused since the newest turn has not ended.
bool is_in_progress(const std::optional<contracts::InvokeResult>& result);

}  // namespace treaty::cli
