// A call as a bridge request: everything in the prompt, for whoever reads nothing else, and the
// same in `context`, for programs. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "treaty/backends/call.h"
#include "treaty/contracts/bridge_request.h"

namespace treaty::backends {

// System text, tools, the conversation so far, and what is wanted now.
std::string bridge_prompt(const Call& call);

// Without response_file, which depends on the place that the request finds.
contracts::BridgeRequest bridge_request_of(const Call& call, const std::string& agent_name,
                                           std::int64_t timeout_seconds);

}  // namespace treaty::backends
