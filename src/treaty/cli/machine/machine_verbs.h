// The verbs of `treaty machine`, each made in a file of its own.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_services.h"

namespace treaty::cli {

Command machine_run_command(const MachineServices& services);
Command machine_resume_command(const MachineServices& services);
Command machine_check_command();
Command machine_graph_command(const MachineServices& services);
Command machine_eval_command();
Command machine_list_command(const MachineServices& services);
Command machine_show_command(const MachineServices& services);
Command machine_signal_command(const MachineServices& services);
Command machine_prune_command(const MachineServices& services);
Command machine_pool_command(const MachineServices& services);
Command machine_work_command(const MachineServices& services);

}  // namespace treaty::cli
