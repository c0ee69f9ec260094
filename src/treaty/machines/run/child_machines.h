// Runs the machines of a state: one, a list, or one for each item (machines.md section 6). Each is
// an execution of its own; its id is made of the parent's, the step and its place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "treaty/machines/run/execution_context.h"

namespace treaty::machines {

// The state's output, or what the children wait for.
using OutputOrWaiting = std::variant<Dynamic, Waiting>;
RunTask<OutputOrWaiting> run_child_machines(ExecutionContext& run, const State& state);

// A machine by its name in `data.machines`.
Attempt<std::shared_ptr<const Machine>> machine_named(const ExecutionContext& run,
                                                      const std::string& name);

// In the id of a launched machine, behind the last dot.
constexpr std::string_view kLaunchPrefix = "launch";

// Starts machines that a state launches and does not wait for (machines.md section 6). The intent
// is durable before the machine starts, and its id is made of the step: it starts once.

RunTask<void> launch_machines(ExecutionContext& run, const State& state);

// Those that had started when the checkpoint was written, and may not have ended since.
boost::asio::awaitable<void> resume_launched(ExecutionContext& run, const List& launches);

}  // namespace treaty::machines
