// Between bridge requests and turns: what is asked of the engine, and what its answer is as an
// AgentResult. Pure.
#pragma once

#include <optional>
#include <string>

#include "treaty/bridge/result_file.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::cli {

// The prompt is the instruction, the context an artifact. It does not stream: a turn of which
// something has left cannot be run again after a crash. Empty agent: the default one.
contracts::UserTurn turn_of(const contracts::BridgeRequest& request, const std::string& agent);

// Of a turn that has ended: what its client was told, and what its last round knows of the
// provider.
contracts::AgentResult result_of(const contracts::InvokeResult& result,
                                 const std::optional<turns::SettledTurn>& round);

// Who was asked last.
bridge::AnsweredBy answered_by(const std::string& agent,
                               const std::optional<turns::SettledTurn>& round);

contracts::AgentResult timed_out(std::int64_t seconds);

}  // namespace treaty::cli
