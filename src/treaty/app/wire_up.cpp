#include "treaty/app/wire_up.h"

#include <vector>

#include "treaty/app/gateway.h"
#include "treaty/app/machine_agents.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"

namespace treaty::app {
int run(int argc, const char* const* argv) {
  std::vector<cli::Command> commands = {
      cli::serve::command(open_gateway),
      cli::run::command(open_gateway),
      cli::chat::command(open_gateway),
      cli::bridge_commands::command(open_gateway),
      cli::machine::command(open_machine_agents),
      cli::sessions::command(),
      cli::check::command(),    //
      cli::rules::command(),    //
      cli::schemas::command(),  //
      cli::hash::command(),     //
      cli::compose::command(),  //
      cli::answers::limits_command(),
      cli::answers::classify_command(),
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
