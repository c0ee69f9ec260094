// Generators of valid values of every contract, for property tests.
#pragma once

#include <rapidcheck.h>

#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/assistant_response.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/bridge_response.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::testing {

rc::Gen<contracts::AgentExecuteRequest> any_request();
rc::Gen<contracts::AgentExecuteResponse> any_response();
rc::Gen<contracts::InvokeResult> any_invoke_result();
rc::Gen<contracts::AgentResult> any_agent_result();
rc::Gen<contracts::BridgeRequest> any_bridge_request();
rc::Gen<contracts::BridgeResponse> any_bridge_response();
rc::Gen<contracts::AssistantResponse> any_assistant_response();
rc::Gen<contracts::Dialect> any_dialect();

// UTF-8 of all kinds: quotes, escapes, control characters, two to four bytes; may be empty.
rc::Gen<std::string> any_text();

// JSON text: mostly well-formed documents with something wrong in them.
rc::Gen<std::string> any_bytes();

}  // namespace treaty::testing
