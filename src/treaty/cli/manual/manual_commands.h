// `treaty completion` and `treaty man`: what other programs know of the command line.
#pragma once

#include <vector>

#include "treaty/cli/command_line.h"

namespace treaty::cli {

// Adds both to the table, which is whole then: they tell of themselves, too.
void add_manual_commands(std::vector<Command>& commands);

}  // namespace treaty::cli
