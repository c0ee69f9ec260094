#include "treaty/cli/commands.h"

namespace treaty::cli::machine {

Command command(const MachineServices& services) {
  return {
      .name = "machine",
      .positionals = "",
      .summary = "State machines over agents: check, run, resume, look into, draw",
      .description =
          R"(Runs flatmachine files durably: every step is on the disk before the next one, and a
machine that was killed goes on where it was.)",
      .examples = {{"machine check examples/machines/writer.yml", "Is it in order?"},
                   {"machine list", "What runs, what waits, what has ended?"}},
      .verbs =
          {
              machine_run::command(services),
              machine_run::resume_command(services),
              machine_check::command(),
              machine_graph::command(services),
              machine_eval::command(),
              machine_list::command(services),
              machine_show::command(services),
              machine_signal::command(services),
              machine_prune::command(services),
              machine_pool::command(services),
              machine_work::command(services),
          },
  };
}

}  // namespace treaty::cli::machine
