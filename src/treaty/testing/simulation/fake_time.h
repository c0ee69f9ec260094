// A clock that stands still until a test moves it, and jumps from alarm to alarm: hours pass in no
// time. For one event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>

#include "treaty/dispatch/time.h"

namespace treaty::testing {

class FakeTime final : public dispatch::Time, public std::enable_shared_from_this<FakeTime> {
 public:
  explicit FakeTime(boost::asio::io_context& loop) : loop_(loop) {}

  dispatch::Moment now() const override { return now_; }
  double unix_now() const override { return unix_at_zero + now_; }
  std::shared_ptr<dispatch::Alarm> alarm(const boost::asio::any_io_executor& executor) override;

  // Runs everything that can go on, moves to the next alarm, and again, until nothing waits any
  // more, or until that moment. True: nothing waits.
  bool run(dispatch::Moment until = 1e18);

  // Nothing else happens meanwhile.
  void pass(dispatch::Seconds seconds) { now_ += seconds; }

  double unix_at_zero = 1'700'000'000;  // A test may make the clock of the wall jump.

 private:
  class FakeAlarm;

  boost::asio::io_context& loop_;
  dispatch::Moment now_ = 1'000;
  std::multimap<dispatch::Moment, std::weak_ptr<FakeAlarm>> waiting_{};
};

}  // namespace treaty::testing
