// The sections of a machine's file. sections.cpp reads settings, persistence and agents;
// state_reading.cpp a state; calls.cpp and execution.cpp what a state calls and how; structure.cpp
// looks at the states together.
#pragma once

#include <optional>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

MachineSettings read_settings(Reader& reader, const Place& place);
Persistence read_persistence(Reader& reader, const Place& place);
std::map<std::string, AgentReference, std::less<>> read_agents(Reader& reader, const Place& place);

// `place` is a mapping.
State read_state(Reader& reader, const Place& place);

// MCH-17: keys that have no effect where they stand. MCH-18: keys that cannot stand together.
void check_state(Reader& reader, const Place& place, const State& state);

// agent, session_id, execution, tool_loop.
void read_agent_call(Reader& reader, const Place& place, State& state);

// input, machine, foreach, as, key, mode, launch, launch_input.
void read_children(Reader& reader, const Place& place, State& state);

// Sections 5 and 6.
std::optional<Execution> read_execution(Reader& reader, const Place& place);
std::optional<ToolLoop> read_tool_loop(Reader& reader, const Place& place);

// Where the machine begins, what can be reached, what never ends. `places` are those of
// machine.states, in the same order; there is at least one. Sets machine.initial.
void check_structure(Reader& reader, const Place& states, const std::vector<Place>& places,
                     Machine& machine);

}  // namespace treaty::machines
