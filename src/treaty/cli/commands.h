// Every command of the program. Each is made in a file of its own.
#pragma once

#include "treaty/cli/command_line.h"

namespace treaty::cli {

Command check_command();
Command rules_command();
Command schema_command();
Command hash_command();
Command compose_command();
Command limits_command();
Command classify_command();
Command normalize_command();
Command call_command();
Command mock_command();
Command config_command();
Command version_command();

}  // namespace treaty::cli
