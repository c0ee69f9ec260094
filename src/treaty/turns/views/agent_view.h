// A journalled turn as an AgentResult: the agent's own words, for readers whose contract is not the
// sealed AgentExecuteResponse (AGN-033), such as the file bridge. Pure.
#pragma once

#include <optional>

#include "treaty/contracts/agent_result.h"
#include "treaty/store/records.h"

namespace treaty::turns {

// The newest round. `content` is what the model said, byte for byte; secrets were masked when it
// came in. `output` is there when there is no content. An error has the code and the message that
// the client was given, never the provider's text. provider_data has the model that answered and
// the provider's request_id; metadata has the backend that was asked, and for which model.
// Nothing while the turn runs, and when the journal has no value of its answer.
std::optional<contracts::AgentResult> agent_view(const store::TurnRecord& record);

}  // namespace treaty::turns
