// Between bridge requests and turns: the turn that a request asks for, and what a turn that has
// ended answers to it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "treaty/bridge/result_file.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::cli {

// The prompt is the instruction, the context an artifact. It does not stream: a turn of which
// something has left cannot be run again after a crash. Empty agent: the default one.
contracts::UserTurn turn_of(const contracts::BridgeRequest& request, const std::string& agent);

// Of a turn that has ended: how it ended, as its client was told, and what the agent said. The text
// is the agent's own, byte for byte, and not the sealed one of the InvokeResult. A blank text is an
// error: a program could not tell it from an answer.
contracts::AgentResult result_of(const contracts::InvokeResult& result,
                                 const std::optional<contracts::AgentResult>& said);

// Who was asked last.
bridge::AnsweredBy answered_by(const std::string& agent,
                               const std::optional<contracts::AgentResult>& said);

// The model that the request names, when another one was asked.
std::optional<std::string> unfollowed_model(const contracts::BridgeRequest& request,
                                            const contracts::AgentResult& said);

contracts::AgentResult timed_out(std::int64_t seconds, std::string_view last_failure = {});
contracts::AgentResult too_large();  // For a file of the bridge.

}  // namespace treaty::cli
