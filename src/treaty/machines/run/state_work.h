// What a state does, in this order: wait for a signal; or action, launch, machines, agent
// (machines.md section 4, 2).
#pragma once

#include "treaty/machines/run/execution_context.h"
#include "treaty/machines/run/hook_runner.h"

namespace treaty::machines {

RunTask<WorkOrWaiting> perform(ExecutionContext& run, HookRunner& hooks, const State& state);

}  // namespace treaty::machines
