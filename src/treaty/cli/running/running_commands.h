// The commands that run turns, and therefore need a gateway.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"

namespace treaty::cli {

Command serve_command(OpenGateway open);
Command run_command(OpenGateway open);
Command chat_command(OpenGateway open);

}  // namespace treaty::cli
