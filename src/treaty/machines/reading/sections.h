// The sections of `data` beside the states: settings, persistence, agents.
#pragma once

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

Settings read_settings(Reader& reader, const Place& place);
Persistence read_persistence(Reader& reader, const Place& place);
std::map<std::string, AgentReference, std::less<>> read_agents(Reader& reader, const Place& place);

}  // namespace treaty::machines
