#include "treaty/testing/simulation/fake_time.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace treaty::testing {

namespace asio = boost::asio;
using dispatch::Moment;

// A timer that nothing but its cancellation ends.
class FakeTime::FakeAlarm final : public dispatch::Alarm,
                                  public std::enable_shared_from_this<FakeAlarm> {
 public:
  FakeAlarm(std::shared_ptr<FakeTime> time, const asio::any_io_executor& executor)
      : time_(std::move(time)), timer_(executor) {}

  asio::awaitable<void> wait_until(Moment moment) override {
    if (std::exchange(was_rung_, false) || moment <= time_->now()) co_return;
    const auto place = time_->waiting_.emplace(moment, weak_from_this());
    timer_.expires_at(asio::steady_timer::time_point::max());
    boost::system::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    was_rung_ = false;
    time_->waiting_.erase(place);
  }

  void ring() override {
    was_rung_ = true;
    timer_.cancel();
  }

 private:
  std::shared_ptr<FakeTime> time_;
  asio::steady_timer timer_;
  bool was_rung_ = false;
};

std::shared_ptr<dispatch::Alarm> FakeTime::alarm(const asio::any_io_executor& executor) {
  return std::make_shared<FakeAlarm>(shared_from_this(), executor);
}

bool FakeTime::run(Moment until) {
  while (true) {
    loop_.restart();
    loop_.poll();
    if (waiting_.empty()) return true;
    const Moment next = waiting_.begin()->first;
    if (next > until) {
      now_ = std::max(now_, until);
      return false;
    }
    now_ = std::max(now_, next);
    for (auto place = waiting_.begin(); place != waiting_.end() && place->first <= now_; ++place) {
      if (const auto alarm = place->second.lock()) alarm->ring();
    }
  }
}

}  // namespace treaty::testing
