// Every command of the program.
//
// Commands that do different things have namespaces of their own, so that two of them may use the
// same name. A command that needs a gateway or agents gets them from app/wire_up.cpp:
//
//   std::vector<cli::Command> commands = {cli::check::command(),
//   cli::serve::command(open_gateway)}; cli::manual::add_commands(commands); return
//   cli::run_command_line(commands, argc, argv);
#pragma once

#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"

namespace treaty::cli {

// clang-format off
namespace answers { Command classify_command(); }
namespace answers { Command limits_command(); }
namespace call { Command command(); }
namespace chat { Command command(OpenGateway open); }
namespace check { Command command(); }
namespace compose { Command command(); }
namespace configuration { Command command(); }
namespace hash { Command command(); }
namespace limits_watch { Command command(); }
namespace mock_provider { Command command(); }
namespace normalize { Command command(); }
namespace rules { Command command(); }
namespace run { Command command(OpenGateway open); }
namespace schemas { Command command(); }
namespace serve { Command command(OpenGateway open); }
namespace sessions { Command command(); }
namespace version { Command command(); }

namespace bridge_commands { Command command(const OpenGateway& open); }
namespace bridge_answer { Command command(OpenGateway open); }
namespace bridge_check { Command command(); }
namespace bridge_doctor { Command command(); }
namespace bridge_log { Command command(); }
namespace bridge_respond { Command command(); }
namespace bridge_run { Command command(OpenGateway open); }
namespace bridge_watch { Command command(OpenGateway open); }

namespace machine { Command command(const OpenMachineAgents& open); }
namespace machine_eval { Command command(); }
namespace machine_executions { Command list_command(); }
namespace machine_executions { Command prune_command(); }
namespace machine_executions { Command show_command(); }
namespace machine_files { Command check_command(); }
namespace machine_files { Command graph_command(); }
namespace machine_pool { Command command(); }
namespace machine_pool { Command work_command(OpenMachineAgents open); }
namespace machine_run { Command command(OpenMachineAgents open); }
namespace machine_run { Command resume_command(OpenMachineAgents open); }
namespace machine_run { Command signal_command(OpenMachineAgents open); }
// clang-format on

namespace manual {
// `treaty completion` and `treaty man`. Adds both to the table, which is whole then: they tell of
// themselves, too.
void add_commands(std::vector<Command>& commands);
}  // namespace manual

}  // namespace treaty::cli
