// Reads an AgentResult, and says everything that is wrong with it (RLT-01 to RLT-11).
#pragma once

#include <string_view>

#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

Decoded<AgentResult> decode_agent_result(std::string_view bytes, const DecodeOptions& options = {});

}  // namespace treaty::contracts
