// A clock that stands still until a test moves it, and jumps from one wait to the next: hours pass
// in no time. For one event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>

#include "treaty/base/clock.h"

namespace treaty::testing {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(boost::asio::io_context& loop) : loop_(loop) {}

  SteadyTime now() const override { return now_; }
  WallTime wall_now() const override;
  boost::asio::awaitable<bool> wait_until(Waiter& waiter, SteadyTime time) override;

  // The same as numbers.
  double seconds() const { return steady_seconds(now_); }
  boost::asio::awaitable<void> sleep(double seconds);

  // Runs everything that can go on, moves to the end of the next wait, and again, until nothing
  // waits any more, or until that second. True: nothing waits.
  bool run(double until = 1e18);

  // Nothing else happens meanwhile.
  void pass(double seconds) { now_ = steady_at(this->seconds() + seconds); }

  double unix_at_zero = 1'700'000'000;  // A test may make the clock of the wall jump.

 private:
  boost::asio::io_context& loop_;
  SteadyTime now_ = steady_at(1'000);
  std::multimap<SteadyTime, std::shared_ptr<Waker>> waiting_{};
};

// The system's clock, but for the time of day: that is what a test says, in milliseconds since
// 1970. Asked on any thread.
std::shared_ptr<Clock> wall_clock(std::function<std::int64_t()> unix_now);

}  // namespace treaty::testing
