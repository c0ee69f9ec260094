// Reads an AgentResult, and says everything that is wrong with it (RLT-01 to RLT-11).
#pragma once

#include <string_view>

#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

// Its members. `raw` is known, but never leaves the process.
inline constexpr std::string_view kAgentResultNames[] = {
    "output",
    "content",
    "usage",
    "cost",
    "metadata",
    "finish_reason",
    "error",
    "rate_limit",
    "provider_data",
    "tool_calls",
    "rendered_user_prompt",
    "raw",
};

Decoded<AgentResult> decode_agent_result(std::string_view bytes, const DecodeOptions& options = {});

}  // namespace treaty::contracts
