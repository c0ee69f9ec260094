#include "treaty/cli/bridge/bridge_command.h"

#include "treaty/cli/bridge/bridge_verbs.h"

namespace treaty::cli {

Command bridge_command(const OpenGateway& open) {
  return {
      .name = "bridge",
      .positionals = "",
      .summary = "Programs that ask agents by files: drive, answer, watch, check, mend",
      .description =
          "A program that needs an agent in the middle of its work writes .agent-request.json, "
          "saves\n"
          "its state and leaves with 42. Whoever drives it has an agent answer, writes\n"
          ".agent-response.json and runs the program again with --resume.",
      .examples = {{"bridge check --dir examples/bridge", "Do request and answer belong together?"},
                   {"bridge doctor", "What is wrong in this directory?"}},
      .verbs =
          {
              bridge_run_command(open),
              bridge_answer_command(open),
              bridge_watch_command(open),
              bridge_respond_command(),
              bridge_check_command(),
              bridge_doctor_command(),
              bridge_log_command(),
          },
  };
}

}  // namespace treaty::cli
