// `treaty machine`: state machines over agents.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_services.h"

namespace treaty::cli {

Command machine_command(const MachineServices& services);

}  // namespace treaty::cli
