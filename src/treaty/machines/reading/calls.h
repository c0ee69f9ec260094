// Whom a state calls: its agent, its machines, what it launches.
#pragma once

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

// agent, session_id, execution, tool_loop.
void read_agent_call(Reader& reader, const Place& place, State& state);

// input, machine, foreach, as, key, mode, launch, launch_input.
void read_children(Reader& reader, const Place& place, State& state);

}  // namespace treaty::machines
