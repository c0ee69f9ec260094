#include "treaty/cli/commands.h"

namespace treaty::cli::machine {

Command command(const OpenMachineAgents& open) {
  return {
      .name = "machine",
      .summary = "State machines over agents: check, run, resume, look into, draw",
      .description =
          R"(Runs flatmachine files durably: every step is on the disk before the next one, and a
machine that was killed goes on where it was.)",
      .examples = {{"machine check examples/machines/writer.yml", "Is it in order?"},
                   {"machine list", "What runs, what waits, what has ended?"}},
      .verbs =
          {
              machine_run::command(open),
              machine_run::resume_command(open),
              machine_files::check_command(),
              machine_files::graph_command(),
              machine_eval::command(),
              machine_executions::list_command(),
              machine_executions::show_command(),
              machine_run::signal_command(open),
              machine_executions::prune_command(),
              machine_pool::command(),
              machine_pool::work_command(open),
          },
  };
}

}  // namespace treaty::cli::machine
