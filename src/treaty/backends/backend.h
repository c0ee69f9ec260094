// A backend runs calls. Its failures are data in the AgentResult, never errors of its own.
//
//   class Echo final : public Backend {
//     awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override {
//       sink.on_text("Hello.");
//       co_return contracts::AgentResult{.content = "Hello.", .finish_reason = "stop"};
//     }
//   };
//
// Thread rule: a backend belongs to the event loop that it was made for, and run() is called there.
// Any number of calls may run at once. A sink is used on the same loop, and not after run()
// returns.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::backends {

// Takes the text of a streamed answer as it comes. What was given here is also in the result.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_text(std::string_view delta) = 0;

  // What a backend with many steps is doing, for those who look on: a kind such as "machine.state",
  // and a JSON object without anything that a model or a provider said.
  virtual void on_progress(std::string_view /*kind*/, std::string_view /*data*/) {}
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Runs on the caller's event loop. Cancelling the coroutine ends the call within 100 ms with
  // finish_reason `aborted`.
  virtual boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) = 0;
};

}  // namespace treaty::backends
