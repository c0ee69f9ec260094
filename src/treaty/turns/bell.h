// Wakes coroutines on any thread: those that wait when it rings go on, on their own event loops.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace treaty::turns {

// A waiter takes a ticket first, then looks whether there is anything to wait for, then waits: what
// rings in between is not lost.
class Bell {
 public:
  class Ticket {
   public:
    // True when it rang, false when `patience` ran out first.
    boost::asio::awaitable<bool> wait(std::chrono::milliseconds patience);

   private:
    friend class Bell;
    struct State;
    explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  // For the event loop of `executor`.
  Ticket ticket(const boost::asio::any_io_executor& executor);

  void ring();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Ticket::State>> waiting_;
};

}  // namespace treaty::turns
