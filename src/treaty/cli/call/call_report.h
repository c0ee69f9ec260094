// An AgentResult for people: the line about usage, cost and limits; tool calls; an error with the
// next step to take; and the exit code of it all.
#pragma once

#include <string>

#include "treaty/backends/providers/provider.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::cli::call {

// One line, without its end: who answered, tokens, cost, windows.
std::string usage_line(const contracts::AgentResult& result);

// A line for each call: `name({"argument": …})  [id]`.
std::string tool_call_lines(const contracts::AgentResult& result);

// The message with code and status, and below it what to do. Of a result with an error.
std::string error_lines(const contracts::AgentResult& result, const backends::Provider& provider);

int exit_code_of(const contracts::AgentResult& result);

}  // namespace treaty::cli::call
