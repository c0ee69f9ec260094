// An AgentResult for people: the line about usage, cost and limits; tool calls; an error with the
// next step to take; and the exit code of it all.
#pragma once

#include <string>
#include <string_view>

#include "treaty/backends/providers/provider.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::cli::call {

// What stdout gets of it. Of an answer that has to fit a schema: its JSON alone, and nothing of one
// that does not fit.
std::string_view text_of_answer(const contracts::AgentResult& result, bool has_schema);

// One line, without its end: who answered, tokens, cost, windows.
std::string usage_line(const contracts::AgentResult& result);

// A line for each call: `name({"argument": …})  [id]`.
std::string tool_call_lines(const contracts::AgentResult& result);

// The message with code and status, and below it what to do. Of a result with an error.
std::string error_lines(const contracts::AgentResult& result, const backends::Provider& provider);

int exit_code_of(const contracts::AgentResult& result);

}  // namespace treaty::cli::call
