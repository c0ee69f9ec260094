// The verbs of `treaty machine`, each made in a file of its own.
#pragma once

#include "treaty/cli/command_line.h"

namespace treaty::cli {

Command machine_check_command();

}  // namespace treaty::cli
