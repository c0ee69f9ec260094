// The verbs of `treaty limits`.
#pragma once

#include "treaty/cli/command_line.h"

namespace treaty::cli {

Command limits_watch_command();

}  // namespace treaty::cli
