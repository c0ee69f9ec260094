// The states of a machine together: where it begins, what can be reached, what never ends.
#pragma once

#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

// `places` are those of machine.states, in the same order; there is at least one. Sets
// machine.initial.
void check_structure(Reader& reader, const Place& states, const std::vector<Place>& places,
                     Machine& machine);

}  // namespace treaty::machines
