#include "treaty/cli/machine/machine_command.h"

#include "treaty/cli/machine/machine_verbs.h"

namespace treaty::cli {

Command machine_command(const MachineServices& services) {
  return {
      .name = "machine",
      .positionals = "",
      .summary = "State machines over agents: check, run, resume, look into, draw",
      .description =
          "Runs flatmachine files durably: every step is on the disk before the next one, and a\n"
          "machine that was killed goes on where it was.",
      .verbs =
          {
              machine_run_command(services),
              machine_resume_command(services),
              machine_check_command(),
              machine_graph_command(),
              machine_eval_command(),
          },
  };
}

}  // namespace treaty::cli
