// From a FlatAgent and its input to the call of a model. Pure.
#pragma once

#include "treaty/backends/call.h"
#include "treaty/backends/flatagent/flat_agent.h"

namespace treaty::backends {

// What an agent is asked.
struct FlatAgentInput {
  const Dynamic& input;
  const List& chain;           // What was said since the first prompt: machines::AgentCall.
  bool without_tools = false;  // It shall answer in words.
};

// The chain as messages; what makes no sense in it is left out.
void append_chain(Messages& messages, const List& chain);

// The error is that of a template. With tools at hand a model may answer with a call, so that no
// output is asked for.
Read<Call> render(const FlatAgent& agent, const FlatAgentInput& input);

}  // namespace treaty::backends
