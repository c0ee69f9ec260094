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
#include <boost/asio/this_coro.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

  // What can be read of the model's thoughts, as it comes.
  virtual void on_thinking(std::string_view /*delta*/) {}

  // All thoughts of an answer that did not fail, at its end. Those who override it keep them.
  virtual void on_thoughts(Thoughts /*thoughts*/) {}  // NOLINT(performance-unnecessary-value-param)

  // Thoughts of this turn were not sent, or not kept: why, in words.
  virtual void on_thoughts_left_out(std::string_view /*why*/) {}

  // False: what is still to come is of no use, and the backend may stop.
  virtual bool wants_more() const { return true; }

  // The answer was cut after so many bytes, those of reasoning and of calls included.
  virtual void on_cut(std::size_t /*bytes*/) {}

  // Discards the text from on_text if none of it has been shown to a client. False: some has been
  // shown, or the sink cannot tell.
  virtual bool take_back() { return false; }

  // The backend cannot take pictures: those of the user's newest message are left out.
  virtual void on_pictures_left_out() {}
};

// Whether the coroutine that calls this was cancelled.
inline boost::asio::awaitable<bool> is_cancelled() {
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  co_return state.cancelled() != boost::asio::cancellation_type::none;
}

// AgentError of a call that was cancelled; its finish_reason is `aborted`.
inline contracts::AgentError cancelled_error(std::string message = "the call was cancelled") {
  return {.message = std::move(message), .type = "Cancelled", .retryable = false};
}

inline contracts::AgentResult aborted_result(contracts::AgentError error = cancelled_error()) {
  return {.finish_reason = "aborted", .error = std::move(error)};
}

// A failure that no provider told.
inline contracts::AgentResult failed_result(std::string code, std::string type, std::string message,
                                            bool retryable) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{.message = std::move(message),
                                         .code = std::move(code),
                                         .type = std::move(type),
                                         .retryable = retryable}};
}

class Backend {
 public:
  virtual ~Backend() = default;

  // Runs on the caller's event loop. Cancelling the coroutine ends the call within 100 ms with
  // finish_reason `aborted`.
  virtual boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) = 0;
};

}  // namespace treaty::backends
