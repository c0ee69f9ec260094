// Resumes machines that turns have launched, after the process that ran them is gone. Their turns
// may have been answered long ago, so nobody else asks for them.
//
//   LaunchResumer launched(services, log);
//   co_await launched.resume_abandoned();    // At the start of a server, and from time to time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "treaty/machines/backend/machine_backend.h"

namespace treaty::machines {

// Belongs to the event loop of the services.
class LaunchResumer {
 public:
  // `log` gets a line for each machine that cannot be resumed.
  LaunchResumer(MachineServices services, std::function<void(std::string_view line)> log)
      : services_(std::move(services)), log_(std::move(log)) {}

  // Starts them and returns; they run on. A store that cannot be read now is asked the next time.
  boost::asio::awaitable<void> resume_abandoned();

 private:
  class RunContext;

  boost::asio::awaitable<void> resume(std::shared_ptr<RunContext> context,
                                      store::SessionExecution execution);

  MachineServices services_;
  std::function<void(std::string_view line)> log_;
  std::set<std::string> unreadable_{};  // They are not tried again.
};

// Whether an execution of that id was launched, and is not a child of one that was.
bool is_launched(std::string_view execution);

}  // namespace treaty::machines
