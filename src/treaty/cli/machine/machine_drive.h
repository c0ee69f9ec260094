// Runs executions of this process: the world around them, real or of a script, the event loop, and
// what a person sees meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/machine/machine_services.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/machines/script/script.h"

namespace treaty::cli {

// Options of everything that runs machines.
std::vector<Option> driving_options();

// --script; nothing when there is none. The error is told already: it is the exit code.
std::expected<std::optional<machines::Script>, int> read_script_option(std::string_view command,
                                                                       const Arguments& arguments);

// Hooks that a machine of this process may name.
HookNames known_hooks(const std::optional<machines::Script>& script);

struct MachineDrive {
  std::string command;
  const MachineServices& services;
  const Arguments& arguments;
  const OpenedMachines& store;
  std::optional<machines::Script> script{};
  std::string resumes{};  // The execution that a simulation goes on with.
};

// What is to be run in that world. An Error has its exit code by the house's convention.
using InWorld = std::function<boost::asio::awaitable<std::expected<machines::Outcome, Error>>(
    const machines::World& world)>;

// Runs it, tells how it ended on stdout, and answers the exit code.
int drive_machines(const MachineDrive& drive, const InWorld& run);

}  // namespace treaty::cli
