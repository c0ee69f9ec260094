#include "treaty/app/wire_up.h"

#include <vector>

#include "treaty/app/gateway.h"
#include "treaty/app/machine_agents.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/services.h"
#include "treaty/store/open_store.h"

namespace treaty::app {
namespace {

cli::Stores stores() {
  return {.address = cli::configured_address,
          .open = [](const std::string& address, store::Purpose purpose) {
            return store::open_store(address, {.purpose = purpose});
          }};
}

cli::MachineServices machine_services() {
  return {.stores = stores(), .open_agents = open_machine_agents};
}

}  // namespace

int run(int argc, const char* const* argv) {
  std::vector<cli::Command> commands = {
      cli::serve::command(open_gateway),
      cli::run::command(open_gateway),
      cli::chat::command(open_gateway),
      cli::bridge_commands::command(open_gateway),
      cli::machine::command(machine_services()),
      cli::sessions::command(stores()),
      cli::check::command(),          //
      cli::rules::command(),          //
      cli::schemas::command(),        //
      cli::hash::command(),           //
      cli::compose::command(),        //
      cli::limits::command(),         //
      cli::classify::command(),       //
      cli::normalize::command(),      //
      cli::call::command(),           //
      cli::mock_provider::command(),  //
      cli::configuration::command(),  //
      cli::version::command(),
  };
  cli::manual::add_commands(commands);
  return cli::run_command_line(commands, argc, argv);
}

}  // namespace treaty::app
