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
      .examples = {{"machine check examples/machines/writer.yml", "Is it in order?"},
                   {"machine list", "What runs, what waits, what has ended?"}},
      .verbs =
          {
              machine_run_command(services),
              machine_resume_command(services),
              machine_check_command(),
              machine_graph_command(services),
              machine_eval_command(),
              machine_list_command(services),
              machine_show_command(services),
              machine_signal_command(services),
              machine_prune_command(services),
              machine_pool_command(services),
              machine_work_command(services),
          },
  };
}

}  // namespace treaty::cli
