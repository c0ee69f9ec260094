// The clock that turns, dispatch, stores and machines are given. testing/simulation/fake_clock.h is
// another one, in which hours pass in no time. Code that only times sockets and programs asks
// std::chrono itself.
//
//   const auto deadline = clock.now() + 30s;             // Intervals: a clock that never jumps.
//   record.created = clock.unix_now();                   // What people read and the store keeps.
//   co_await clock.wait_until(waiter, deadline);         // Until then, or until it is notified.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "treaty/base/notifier.h"

namespace treaty {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// Every function may be called on any thread; wait_until() on that of the waiter.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime now() const = 0;
  virtual WallTime wall_now() const = 0;
  std::int64_t unix_now() const;  // wall_now() as milliseconds since 1970.

  // As Waiter::wait_until(); at once when that time has passed already.
  virtual boost::asio::awaitable<bool> wait_until(Waiter& waiter, SteadyTime time) = 0;
};

std::shared_ptr<Clock> system_clock();

// Numbers, for modules that calculate with them and for formats. steady_at() rounds up;
// SteadyTime::max() for what the clock cannot express.
double steady_seconds(SteadyTime time);
SteadyTime steady_at(double seconds);
double unix_seconds(WallTime time);
std::int64_t unix_milliseconds(WallTime time);

}  // namespace treaty
