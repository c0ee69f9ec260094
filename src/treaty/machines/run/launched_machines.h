// Starts machines that a state launches and does not wait for (machines.md section 6). The intent
// is durable before the machine starts, and its id is made of the step: it starts once.
#pragma once

#include "treaty/machines/run/execution_context.h"

namespace treaty::machines {

RunTask<void> launch_machines(ExecutionContext& run, const State& state);

// Those that had started when the checkpoint was written, and may not have ended since.
boost::asio::awaitable<void> resume_launched(ExecutionContext& run, const List& launches);

}  // namespace treaty::machines
