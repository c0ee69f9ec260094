// Runs executions of this process: the world around them, real or of a script, the event loop, and
// what a person sees meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/shared/services.h"
#include "treaty/machines/script/script.h"

namespace treaty::cli {

// Options of everything that runs machines; --max-steps is for those that run one.
enum class Steps { limited, unlimited };
std::vector<Option> driving_options(Steps steps = Steps::limited);

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

// Where executions are run, one after the other.
class MachineStage {
 public:
  virtual ~MachineStage() = default;

  virtual machines::World world() = 0;
  virtual bool is_stopping() const = 0;  // Somebody wants the process to end.

  // Before a new execution. A simulation plays its script from the beginning.
  virtual boost::asio::awaitable<std::expected<void, Error>> begin() = 0;

  // Before one that is there. A simulation skips what earlier processes of it were answered.
  virtual boost::asio::awaitable<void> go_on_with(std::string execution) = 0;
};

// Runs what it is told to on a stage, until that and everything that it launched has ended. Answers
// its exit code.
using OnStage = std::function<boost::asio::awaitable<int>(MachineStage& stage)>;
int drive_on_stage(const MachineDrive& drive, const OnStage& run);

// What is to be run in that world. An Error has its exit code by the house's convention.
using InWorld = std::function<boost::asio::awaitable<std::expected<machines::Outcome, Error>>(
    const machines::World& world)>;

// Runs it, tells how it ended on stdout, and answers the exit code.
int drive_machines(const MachineDrive& drive, const InWorld& run);

}  // namespace treaty::cli
