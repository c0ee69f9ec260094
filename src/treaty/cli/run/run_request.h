// What the words after `treaty run` ask of the agent.
#pragma once

#include <optional>
#include <string>

#include "treaty/cli/command_line.h"
#include "treaty/contracts/agent_execute_request.h"

namespace treaty::cli {

// The request with ids of its own where none were given; nothing when only a session is named, in
// which a turn waits.
Result<std::optional<contracts::AgentExecuteRequest>> read_run_request(const Arguments& arguments);

// A path as an artifact names it: relative and inside (REQ-31), however the user wrote it.
std::string artifact_path(const std::string& path);

// Every rule that the request breaks, one a line; empty when it keeps its contract.
std::string violations_of(const contracts::AgentExecuteRequest& request);

}  // namespace treaty::cli
