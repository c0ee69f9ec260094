// From a FlatAgent and its input to the call of a model, and from the model's answer to the output
// that the agent promises. Pure.
#pragma once

#include <optional>
#include <string>

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

// The error is that of a template.
Read<Call> render(const FlatAgent& agent, const FlatAgentInput& input);

// Sets the result's `output` from its text when the call asked for one. What is wrong with the
// text, for the model; nothing when it fits, or when nothing can be asked of this answer: a
// failure, tool calls, a refusal.
std::optional<std::string> read_answer(const FlatAgent& agent, const Call& call,
                                       contracts::AgentResult& result);

// The same call after an answer that did not fit: with the answer and the complaint.
Call with_complaint(Call call, const contracts::AgentResult& result, const std::string& complaint);

// The answer that did not fit a second time: error `invalid_output`; text, usage and cost stay.
void refuse_output(contracts::AgentResult& result, const std::string& complaint);

}  // namespace treaty::backends
