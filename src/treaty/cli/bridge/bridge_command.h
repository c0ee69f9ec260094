// `treaty bridge`: the file protocol between programs and agents.
#pragma once

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"

namespace treaty::cli {

Command bridge_command(const OpenGateway& open);

}  // namespace treaty::cli
