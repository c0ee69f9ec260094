// A backend that asks by file: a call becomes a request in a directory and waits for the answer of
// whoever serves it, such as `treaty bridge watch`.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "treaty/backends/backend.h"
#include "treaty/backends/bridge/answer_watch.h"
#include "treaty/backends/bridge/slots.h"
#include "treaty/base/offload_pool.h"

namespace treaty::backends {

struct BridgeTarget {
  std::string directory;
  std::string agent_name;
  std::chrono::milliseconds timeout{120'000};
};

// Belongs to one thread. Many runs may go on at once, each in a place of its own. A run whose
// coroutine is destroyed before its end leaves its question behind, for the next process that asks
// the same.
class BridgeBackend final : public Backend {
 public:
  explicit BridgeBackend(BridgeTarget target);

  boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override;

 private:
  using Time = std::chrono::steady_clock::time_point;

  boost::asio::awaitable<contracts::AgentResult> ask(contracts::BridgeRequest request);
  boost::asio::awaitable<contracts::AgentResult> wait(const BridgePlace& place,
                                                      std::shared_ptr<AnswerWatch> watch,
                                                      Time deadline);
  boost::asio::awaitable<contracts::AgentResult> give_up(OffloadError why);

  BridgeTarget target_;
  BridgeSlots slots_;
  std::shared_ptr<AnswerWatch> watch_{};
  OffloadPool pool_{{.threads = 1, .most_waiting = 1'024}};  // Uses the slots until it is gone.
};

}  // namespace treaty::backends
