// One state of a machine: its keys, and what they mean beside each other (MCH-17, MCH-18).
#pragma once

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

// `place` is a mapping.
State read_state(Reader& reader, const Place& place);

// MCH-17: keys that have no effect where they stand. MCH-18: keys that cannot stand together.
void check_state(Reader& reader, const Place& place, const State& state);

}  // namespace treaty::machines
