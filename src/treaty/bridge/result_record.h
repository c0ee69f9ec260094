// What an AgentResult remembers of the response that it was read from: `metadata.bridge`.
#pragma once

#include <optional>
#include <string>

#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::bridge {

// Everything but the text, which the result has itself.
void record_response(const contracts::BridgeResponse& response, contracts::AgentResult& result);

// The response that was recorded; nothing when there is none, or when somebody has changed it.
std::optional<contracts::BridgeResponse> recorded_response(const contracts::AgentResult& result);

// The text of a success. Without content it is the output, and without that nothing.
std::string text_of_success(const contracts::AgentResult& result);

}  // namespace treaty::bridge
