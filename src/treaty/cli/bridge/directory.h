// The directory that a command of the bridge is about: --dir, else where the process stands.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/driver.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

std::vector<Option> directory_options();

// As an absolute path. Tells on stderr why not; the error is the exit code.
std::expected<std::string, int> named_directory(std::string_view command,
                                                const Arguments& arguments);

// The same for the right to answer there.
std::expected<bridge::Driver, int> open_driver(std::string_view command,
                                               const std::string& directory,
                                               bridge::Reach reach = bridge::Reach::anywhere);

// Tells on stderr why the files there cannot be used; answers `code`.
int tell_unusable(std::string_view command, const Error& error, int code);

}  // namespace treaty::cli
