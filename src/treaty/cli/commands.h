// Every command of the program.
//
// Each command has a namespace and a file of its own (verbs of `bridge` and `machine` included), so
// that two commands may use the same name for different things. A command that needs a gateway, a
// store or agents gets them from app/wire_up.cpp:
//
//   std::vector<cli::Command> commands = {cli::check::command(),
//   cli::serve::command(open_gateway)}; cli::manual::add_commands(commands); return
//   cli::run_command_line(commands, argc, argv);
#pragma once

#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"

namespace treaty::cli {

struct MachineServices;
struct Stores;

// clang-format off
namespace call { Command command(); }
namespace chat { Command command(OpenGateway open); }
namespace check { Command command(); }
namespace classify { Command command(); }
namespace compose { Command command(); }
namespace configuration { Command command(); }
namespace hash { Command command(); }
namespace limits { Command command(); }
namespace limits_watch { Command command(); }
namespace mock_provider { Command command(); }
namespace normalize { Command command(); }
namespace rules { Command command(); }
namespace run { Command command(OpenGateway open); }
namespace schemas { Command command(); }
namespace serve { Command command(OpenGateway open); }
namespace sessions { Command command(Stores stores); }
namespace version { Command command(); }

namespace bridge_commands { Command command(const OpenGateway& open); }
namespace bridge_answer { Command command(OpenGateway open); }
namespace bridge_check { Command command(); }
namespace bridge_doctor { Command command(); }
namespace bridge_log { Command command(); }
namespace bridge_respond { Command command(); }
namespace bridge_run { Command command(OpenGateway open); }
namespace bridge_watch { Command command(OpenGateway open); }

namespace machine { Command command(const MachineServices& services); }
namespace machine_check { Command command(); }
namespace machine_eval { Command command(); }
namespace machine_graph { Command command(const MachineServices& services); }
namespace machine_list { Command command(const MachineServices& services); }
namespace machine_pool { Command command(const MachineServices& services); }
namespace machine_prune { Command command(const MachineServices& services); }
namespace machine_run { Command command(const MachineServices& services); }
namespace machine_run { Command resume_command(const MachineServices& services); }
namespace machine_show { Command command(const MachineServices& services); }
namespace machine_signal { Command command(const MachineServices& services); }
namespace machine_work { Command command(const MachineServices& services); }
// clang-format on

namespace manual {
// `treaty completion` and `treaty man`. Adds both to the table, which is whole then: they tell of
// themselves, too.
void add_commands(std::vector<Command>& commands);
}  // namespace manual

}  // namespace treaty::cli
