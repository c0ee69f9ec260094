#include "treaty/base/clock.h"

#include <algorithm>

namespace treaty {
namespace {

namespace asio = boost::asio;

class SystemClock final : public Clock {
 public:
  SteadyTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }

  asio::awaitable<bool> wait_until(Waiter& waiter, SteadyTime time) override {
    if (time <= now()) co_return waiter.take();
    co_return co_await waiter.wait_until(time);
  }
};

}  // namespace

std::int64_t Clock::unix_now() const { return unix_milliseconds(wall_now()); }

std::shared_ptr<Clock> system_clock() { return std::make_shared<SystemClock>(); }

double steady_seconds(SteadyTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

SteadyTime steady_at(double seconds) {
  constexpr double kLongest = 9e9;  // The clock's numbers end at 9.2e9 seconds.
  if (!(seconds < kLongest)) return SteadyTime::max();
  const std::chrono::duration<double> bounded(std::max(seconds, 0.0));
  SteadyTime time(std::chrono::ceil<SteadyTime::duration>(bounded));
  while (steady_seconds(time) < seconds) time += SteadyTime::duration(1);
  return time;
}

double unix_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::int64_t unix_milliseconds(WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace treaty
