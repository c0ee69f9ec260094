// The manual page, written from the table of commands.
#pragma once

#include <span>
#include <string>

#include "treaty/cli/command_line.h"

namespace treaty::cli::manual {

// treaty(1), for the man macros of groff and mandoc.
std::string man_page(std::span<const Command> commands);

}  // namespace treaty::cli::manual
