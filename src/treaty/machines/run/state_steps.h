// What a state does, and what follows from it: on_state_exit, output_to_context, and the next state
// (machines.md sections 4 and 7).
#pragma once

#include <string>
#include <variant>

#include "treaty/machines/run/execution_context.h"
#include "treaty/machines/run/hook_runner.h"

namespace treaty::machines {

// Section 4, 2, in this order: wait for a signal; or action, launch, machines, agent.
RunTask<WorkOrWaiting> perform(ExecutionContext& run, HookRunner& hooks, const State& state);

struct NextState {
  std::string name;
};
struct MachineEnd {
  Dynamic output;
};
using NextStep = std::variant<NextState, MachineEnd, Waiting>;

// Section 4, 3 to 5: hooks, the context, and the checkpoint that says the state's work is over.
RunTask<StateExit> conclude(ExecutionContext& run, HookRunner& hooks, const State& state,
                            StateWork work);

// Section 4, 6: where a concluded state leads.
RunTask<NextStep> leave(ExecutionContext& run, HookRunner& hooks, const State& state,
                        const StateExit& exit);

// Section 7: where a failure of the run leads. The failure itself when nothing catches it.
RunTask<NextStep> route_failure(ExecutionContext& run, HookRunner& hooks, const State& state,
                                RunFailure failure);

}  // namespace treaty::machines
