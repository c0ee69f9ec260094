// `output` of a prompt, {field: {type, description?, enum?, required?, items?, properties?}}, as
// the JSON Schema that a model is asked to keep.
#pragma once

#include "treaty/backends/flatagent/flat_agent.h"
#include "treaty/backends/flatagent/reading.h"

namespace treaty::backends {

// Fields are required unless they say otherwise. The error names the field.
Read<WantedOutput> read_output(const Object& fields);

}  // namespace treaty::backends
