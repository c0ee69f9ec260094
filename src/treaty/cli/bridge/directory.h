// The directory that a command of the bridge is about: --dir, else the current one, else the place
// where the program keeps its requests (bridge/lookup.h).
#pragma once

#include <string>
#include <vector>

#include "treaty/bridge/driver.h"
#include "treaty/bridge/lookup.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

std::vector<Option> directory_options();

// Where this process was started.
bridge::StartingPoint starting_point();

// What a command needs to find in the current directory; if it is not there and --dir is not given,
// the command looks elsewhere, always in the same order (bridge::find_request).
enum class Needs {
  request,   // To answer it.
  anything,  // A request, an answer, or what treaty keeps there.
  journal,   // The same; and of other directories a journal will do.
};

// As it is shown: `.`, what --dir says, or the place that was found, of which stderr has a line.
std::string chosen_directory(std::string_view command, const Arguments& arguments, Needs needs);

// As an absolute path.
Result<std::string> resolved_directory(const std::string& directory);

// The right to answer there. `verb` is the command that the lock names.
Result<bridge::Driver> open_driver(const std::string& verb, const std::string& directory,
                                   bridge::Reach reach = bridge::Reach::anywhere);

// What a command that could not write an answer exits with.
int exit_code_of(const Error& error);

// Commands, one after the other, as they can be given to a shell.
std::string command_text(const std::vector<std::vector<std::string>>& commands);

// Why the files there cannot be used.
std::unexpected<CommandFailure> unusable(const Error& error, int exit_code);

}  // namespace treaty::cli
