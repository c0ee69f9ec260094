#include "treaty/dispatch/time.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr Seconds kLongest = 1e8;  // Three years: far from where the clock's numbers end.

Moment moment_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class TimerAlarm final : public Alarm, public std::enable_shared_from_this<TimerAlarm> {
 public:
  explicit TimerAlarm(const asio::any_io_executor& executor) : timer_(executor) {}

  asio::awaitable<void> wait_until(Moment moment) override {
    const Seconds left = std::clamp(moment - moment_now(), 0.0, kLongest);
    if (was_rung_.exchange(false) || left <= 0) co_return;
    // Rounded up: never too early.
    timer_.expires_after(std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(left)));
    boost::system::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    was_rung_ = false;
  }

  void ring() override {
    if (was_rung_.exchange(true)) return;
    asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  asio::steady_timer timer_;
  std::atomic<bool> was_rung_ = false;
};

class SystemTime final : public Time {
 public:
  Moment now() const override { return moment_now(); }

  double unix_now() const override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  std::shared_ptr<Alarm> alarm(const asio::any_io_executor& executor) override {
    return std::make_shared<TimerAlarm>(executor);
  }
};

}  // namespace

std::shared_ptr<Time> system_time() { return std::make_shared<SystemTime>(); }

}  // namespace treaty::dispatch
