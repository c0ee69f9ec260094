// A machine as a backend: its output is the answer, its progress that of the turn.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "treaty/backends/backend.h"
#include "treaty/machines/run/runner.h"

namespace treaty::machines {

// What machines of one event loop share; all of it is there as long as what `hold` gives.
struct MachineServices {
  Agents& agents;
  Timeline& timeline;
  store::MachineStore& store;
  const HookRegistry& hooks;
  OpenMachine open_machine;
  ReadMachine read_machine;
  std::function<std::shared_ptr<const void>()> hold;
  std::string process{};  // See World.
};

// Belongs to one thread. An execution is named after whoever asks: the same asker goes on with it,
// after a crash, a failure, or with the results of its tools, in the machine that it began with.
// Machines that were launched go on when the run has ended, or is cancelled.
class MachineBackend final : public backends::Backend {
 public:
  // `file` is the machine's; it tells executions of one asker in two machines apart.
  MachineBackend(std::shared_ptr<const Machine> machine, std::string file,
                 MachineServices services);

  boost::asio::awaitable<contracts::AgentResult> run(const backends::Call& call,
                                                     backends::Sink& sink) override;

 private:
  class RunContext;

  std::string execution_of(const backends::Call& call) const;
  boost::asio::awaitable<std::expected<Outcome, Error>> drive(World world, std::string execution,
                                                              backends::Sink& sink,
                                                              const backends::Call& call);
  ReadMachine reader() const;
  bool is_kept() const;  // One that is not begins anew with every call, and has no client's tools.

  std::shared_ptr<const Machine> machine_;
  std::string file_;
  MachineServices services_;
};

}  // namespace treaty::machines
