// Runs the machines of a state: one, a list, or one for each item (machines.md section 6). Each is
// an execution of its own; its id is made of the parent's, the step and its place.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "treaty/machines/run/execution_context.h"

namespace treaty::machines {

// The state's output, or what the children wait for.
using OutputOrWaiting = std::variant<Dynamic, Waiting>;
RunTask<OutputOrWaiting> run_child_machines(ExecutionContext& run, const State& state);

// A machine by its name in `data.machines`.
Attempt<std::shared_ptr<const Machine>> machine_named(const ExecutionContext& run,
                                                      const std::string& name);

}  // namespace treaty::machines
