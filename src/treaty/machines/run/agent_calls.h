// Calls the agent of a state: once, with retries, in parallel or by vote (machines.md section 5).
// An answer that an earlier runner has journalled is not asked for again.
#pragma once

#include "treaty/machines/run/execution_context.h"

namespace treaty::machines {

// The call that a state makes: its agent, its rendered input and session.
Attempt<AgentCall> agent_call_of(const ExecutionContext& run, const State& state);

// As `execution` of the state says. Failures of the agent are in the AgentResult.
RunTask<Object> execute_agent(ExecutionContext& run, const State& state, AgentCall& call);

// One call, whatever `execution` says.
RunTask<Object> ask_agent(ExecutionContext& run, const State& state, AgentCall& call);

}  // namespace treaty::machines
