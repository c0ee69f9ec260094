// The verbs of `treaty machine`, each made in a file of its own.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_services.h"

namespace treaty::cli {

Command machine_run_command(const MachineServices& services);
Command machine_resume_command(const MachineServices& services);
Command machine_check_command();
Command machine_graph_command();
Command machine_eval_command();

}  // namespace treaty::cli
