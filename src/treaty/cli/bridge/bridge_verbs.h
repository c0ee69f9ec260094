// The verbs of `treaty bridge`, a file each; the command itself is in bridge_command.cpp.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"

namespace treaty::cli {

// Each has its own options, help and examples; `treaty bridge run --help` tells them.
Command bridge_run_command(OpenGateway open);
Command bridge_answer_command(OpenGateway open);
Command bridge_watch_command(OpenGateway open);
Command bridge_respond_command();
Command bridge_check_command();
Command bridge_doctor_command();
Command bridge_log_command();

}  // namespace treaty::cli
