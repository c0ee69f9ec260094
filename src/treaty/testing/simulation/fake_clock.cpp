#include "treaty/testing/simulation/fake_clock.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

namespace treaty::testing {

namespace asio = boost::asio;

namespace {

class WallClock final : public Clock {
 public:
  explicit WallClock(std::function<std::int64_t()> unix_now) : unix_now_(std::move(unix_now)) {}

  SteadyTime now() const override { return system_->now(); }
  WallTime wall_now() const override { return WallTime(std::chrono::milliseconds(unix_now_())); }
  asio::awaitable<bool> wait_until(Waiter& waiter, SteadyTime time) override {
    return system_->wait_until(waiter, time);
  }

 private:
  std::function<std::int64_t()> unix_now_;
  std::shared_ptr<Clock> system_ = system_clock();
};

}  // namespace

std::shared_ptr<Clock> wall_clock(std::function<std::int64_t()> unix_now) {
  return std::make_shared<WallClock>(std::move(unix_now));
}

WallTime FakeClock::wall_now() const {
  const std::chrono::duration<double> time(unix_at_zero + seconds());
  return WallTime(std::chrono::round<WallTime::duration>(time));
}

asio::awaitable<bool> FakeClock::wait_until(Waiter& waiter, SteadyTime time) {
  if (time <= now_) co_return waiter.take();
  // Also when the coroutine is destroyed while it waits.
  struct Place {
    std::multimap<SteadyTime, std::shared_ptr<Waker>>& waiting;
    decltype(waiting_)::iterator entry;
    ~Place() { waiting.erase(entry); }
  };
  const Place place{waiting_, waiting_.emplace(time, waiter.waker())};
  co_await waiter.wait();
  co_return now_ < time;
}

asio::awaitable<void> FakeClock::sleep(double seconds) {
  Waiter waiter(co_await asio::this_coro::executor);
  co_await wait_until(waiter, steady_at(this->seconds() + seconds));
}

bool FakeClock::run(double until) {
  while (true) {
    loop_.restart();
    loop_.poll();
    if (waiting_.empty()) return true;
    const SteadyTime next = waiting_.begin()->first;
    if (next > steady_at(until)) {
      now_ = std::max(now_, steady_at(until));
      return false;
    }
    now_ = std::max(now_, next);
    for (auto place = waiting_.begin(); place != waiting_.end() && place->first <= now_; ++place) {
      place->second->notify();
    }
  }
}

}  // namespace treaty::testing
