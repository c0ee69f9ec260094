// Runs executions of this process: the world around them, real or of a script, the event loop, and
// what a person sees meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "treaty/cli/gateway.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/machines/script/simulation.h"

namespace treaty::cli {

// Options of everything that runs machines; --max-steps is for those that run one.
enum class Steps { limited, unlimited };
std::vector<Option> driving_options(Steps steps = Steps::limited);

// --script; nothing when there is none.
Result<std::optional<machines::Script>> read_script_option(const Arguments& arguments);

// The machine that a command is to run. One that is refused is told, on stdout for programs.
Result<std::shared_ptr<const machines::Machine>> read_machine_to_run(
    std::string_view command, const Arguments& arguments,
    const std::optional<machines::Script>& script);

struct MachineDrive {
  std::string command;
  const OpenMachineAgents& open_agents;
  const Arguments& arguments;
  const OpenedMachines& store;
  std::optional<machines::Script> script{};
  std::string resumes{};  // The execution that a simulation goes on with.
};

// Where executions are run, one after the other.
class MachineHost {
 public:
  virtual ~MachineHost() = default;

  virtual machines::World world() = 0;
  virtual bool is_stopping() const = 0;  // Somebody wants the process to end.

  // Before a new execution. A simulation plays its script from the beginning.
  virtual boost::asio::awaitable<std::expected<void, Error>> begin() = 0;

  // Before one that is there. A simulation skips what earlier processes of it were answered.
  virtual boost::asio::awaitable<void> go_on_with(std::string execution) = 0;
};

// Runs what it is told to on a host, until that and everything that it launched has ended. Answers
// its exit code.
using HostTask = std::function<boost::asio::awaitable<int>(MachineHost& host)>;
Result<int> run_on_host(const MachineDrive& drive, const HostTask& run);

// What is to be run in that world.
using InWorld = std::function<boost::asio::awaitable<std::expected<machines::Outcome, Error>>(
    const machines::World& world)>;

// Runs it, tells how it ended on stdout, and answers the exit code.
Result<int> drive_machines(const MachineDrive& drive, const InWorld& run);

}  // namespace treaty::cli
