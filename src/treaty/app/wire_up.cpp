#include "treaty/app/wire_up.h"

#include <vector>

#include "treaty/app/gateway.h"
#include "treaty/app/machine_agents.h"
#include "treaty/cli/bridge/bridge_command.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/machine_command.h"
#include "treaty/cli/manual/manual_commands.h"
#include "treaty/cli/running/running_commands.h"
#include "treaty/cli/sessions/sessions_command.h"
#include "treaty/store/directory/directory_store.h"
#include "treaty/store/memory/memory_store.h"
#include "treaty/store/sqlite/sqlite_store.h"

namespace treaty::app {
namespace {

cli::Stores stores() {
  return {.address = cli::configured_address,
          .open = [](const std::string& address, store::Purpose purpose) {
            return store::open_sqlite_address(address, {.purpose = purpose});
          }};
}

cli::MachineServices machine_services() {
  return {.stores = stores(),
          .open_directory =
              [](const std::string& path, store::Purpose purpose) {
                return store::open_directory_store(path, {.purpose = purpose});
              },
          .open_memory = [] { return store::open_memory_store(); },
          .open_agents = open_machine_agents};
}

}  // namespace

int run(int argc, const char* const* argv) {
  std::vector<cli::Command> commands = {
      cli::serve_command(open_gateway),
      cli::run_command(open_gateway),
      cli::chat_command(open_gateway),
      cli::bridge_command(open_gateway),
      cli::machine_command(machine_services()),
      cli::sessions_command(stores()),
      cli::check_command(),      //
      cli::rules_command(),      //
      cli::schema_command(),     //
      cli::hash_command(),       //
      cli::compose_command(),    //
      cli::limits_command(),     //
      cli::classify_command(),   //
      cli::normalize_command(),  //
      cli::call_command(),       //
      cli::mock_command(),       //
      cli::config_command(),     //
      cli::version_command(),
  };
  cli::add_manual_commands(commands);
  return cli::run_command_line(commands, argc, argv);
}

}  // namespace treaty::app
