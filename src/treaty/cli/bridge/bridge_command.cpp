#include "treaty/cli/commands.h"

namespace treaty::cli::bridge_commands {

Command command(const OpenGateway& open) {
  return {
      .name = "bridge",
      .summary = "Programs that ask agents by files: drive, answer, watch, check, mend",
      .description =
          R"(A program that needs an agent in the middle of its work writes .agent-request.json, saves
its state and leaves with 42. Whoever drives it has an agent answer, writes
.agent-response.json and runs the program again with --resume.
Requests are looked for in --dir DIR; without it in the current directory, then in
$AGENTECFLOW_HOME/state, ~/.agentecflow/state and the directories above, up to the first
that has a .git or is $HOME.)",
      .examples = {{"bridge check --dir examples/bridge", "Do request and answer belong together?"},
                   {"bridge doctor", "What is wrong in this directory?"}},
      .verbs =
          {
              bridge_run::command(open),
              bridge_answer::command(open),
              bridge_watch::command(open),
              bridge_respond::command(),
              bridge_check::command(),
              bridge_doctor::command(),
              bridge_log::command(),
          },
  };
}

}  // namespace treaty::cli::bridge_commands
