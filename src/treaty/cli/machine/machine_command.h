// `treaty machine`: state machines over agents.
#pragma once

#include "treaty/cli/command_line.h"

namespace treaty::cli {

Command machine_command();

}  // namespace treaty::cli
