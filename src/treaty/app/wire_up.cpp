#include "treaty/app/wire_up.h"

#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"

namespace treaty::app {

int run(int argc, const char* const* argv) {
  const std::vector<cli::Command> commands = {
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
      cli::version_command(),
  };
  return cli::run_command_line(commands, argc, argv);
}

}  // namespace treaty::app
