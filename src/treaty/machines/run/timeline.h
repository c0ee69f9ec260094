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

// Belongs to the event loop of the executions that use it.
class Timeline {
 public:
  virtual ~Timeline() = default;

  virtual double now() const = 0;       // Seconds, of a clock that never goes back.
  virtual double unix_now() const = 0;  // Seconds since 1970.
  virtual double chance() = 0;          // -1 to 1: for jitter.

  // False when it was cancelled.
  virtual boost::asio::awaitable<bool> wait(double seconds) = 0;

  // Runs the job, and cancels it at the deadline. False: the deadline came first.
  virtual boost::asio::awaitable<bool> within(double deadline, Job job) = 0;

  // Starts the jobs in their order, at most `at_once` at a time. After each one that ends, asks
  // `is_enough`; if so, running jobs are cancelled and the others never start. Returns when all
  // have ended.
  virtual boost::asio::awaitable<void> together(std::vector<Job> jobs, std::size_t at_once,
                                                std::function<bool()> is_enough) = 0;

  // Runs the job, and the other one as long as it runs. A simulation has no need of the other one.
  virtual boost::asio::awaitable<void> alongside(Job job, Job other) = 0;

  // Starts the job and returns at once; the job runs to its end.
  virtual boost::asio::awaitable<void> beside(Job job) = 0;
};

std::unique_ptr<Timeline> real_timeline(std::shared_ptr<Clock> clock = system_clock());

}  // namespace treaty::machines
