// The verbs of `treaty machine`, each made in a file of its own.
#pragma once

#include "treaty/cli/command_line.h"

namespace treaty::cli {}  // namespace treaty::cli
