// The directory that a command of the bridge is about: --dir, else where the process stands.
#pragma once

#include <string>
#include <vector>

#include "treaty/bridge/driver.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

std::vector<Option> directory_options();

// As an absolute path.
Result<std::string> named_directory(const Arguments& arguments);

// The right to answer there. `verb` is the command that the lock names.
Result<bridge::Driver> open_driver(const std::string& verb, const std::string& directory,
                                   bridge::Reach reach = bridge::Reach::anywhere);

// Why the files there cannot be used.
std::unexpected<CommandFailure> unusable(const Error& error, int exit_code);

}  // namespace treaty::cli
