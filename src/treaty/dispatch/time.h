// The clock that dispatch asks, and how it waits. The clock of the wall is for what people read and
// for what outlives the process.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "treaty/dispatch/seconds.h"

namespace treaty::dispatch {

// Wakes one coroutine.
class Alarm {
 public:
  virtual ~Alarm() = default;

  // Until that moment, or until it is rung; at once when it was rung since the last wait. To be
  // called on the loop that it was made for. Cancelling the coroutine ends the wait, too.
  virtual boost::asio::awaitable<void> wait_until(Moment moment) = 0;

  virtual void ring() = 0;  // From any thread.
};

class Time {
 public:
  virtual ~Time() = default;
  virtual Moment now() const = 0;
  virtual double unix_now() const = 0;  // Seconds since 1970.
  virtual std::shared_ptr<Alarm> alarm(const boost::asio::any_io_executor& executor) = 0;
};

std::shared_ptr<Time> system_time();

}  // namespace treaty::dispatch
