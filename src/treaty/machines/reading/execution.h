// How a state's agent is called: `execution` (section 5) and `tool_loop` (section 6).
#pragma once

#include <optional>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

std::optional<Execution> read_execution(Reader& reader, const Place& place);
std::optional<ToolLoop> read_tool_loop(Reader& reader, const Place& place);

}  // namespace treaty::machines
