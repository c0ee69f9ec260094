// Time as a machine lives it: real, or simulated, where waiting takes no time and what would run
// side by side runs one after the other with overlapping time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "treaty/base/clock.h"
#include "treaty/machines/agents.h"

namespace treaty::machines {

using Job = std::function<boost::asio::awaitable<void>()>;

class Timeline {
 public:
  virtual ~Timeline() = default;

  virtual double now() const = 0;       // Seconds, of a clock that never goes back.
  virtual double unix_now() const = 0;  // Seconds since 1970.
  virtual double chance() = 0;          // -1 to 1: for jitter.

  // False when it was cancelled.
  virtual boost::asio::awaitable<bool> wait(double seconds) = 0;

  // Runs the job and cancels it at that moment. False when it came to that.
  virtual boost::asio::awaitable<bool> within(double deadline, Job job) = 0;

  // Runs them, so many at once, in their order; when one has ended and `is_enough` then, the rest
  // is cancelled or not begun. Returns when all have ended.
  virtual boost::asio::awaitable<void> together(std::vector<Job> jobs, std::size_t at_once,
                                                std::function<bool()> is_enough) = 0;

  // Runs the job, and the other one as long as it runs. A simulation has no need of the other one.
  virtual boost::asio::awaitable<void> alongside(Job job, Job other) = 0;

  // Beside whoever asks, who does not wait for it. What is begun here lives as long as it takes.
  virtual boost::asio::awaitable<void> beside(Job job) = 0;
};

std::unique_ptr<Timeline> real_timeline(std::shared_ptr<Clock> clock = system_clock());

}  // namespace treaty::machines
