#include "treaty/base/notifier.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace treaty {

namespace asio = boost::asio;

asio::awaitable<void> sleep_for(std::chrono::steady_clock::duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// While the waiter is there its event loop is there, too: the mutex keeps the waiter from going
// away during the post. The event loop looks again whether the notification still waits to be
// taken, so that one that was taken meanwhile does not end the next wait.
void Waker::notify() {
  const MutexLock lock(mutex_);
  if (timer_ == nullptr || std::exchange(is_pending_, true) || !is_waiting_) return;
  asio::post(timer_->get_executor(), [self = shared_from_this()] {
    const MutexLock held(self->mutex_);
    if (self->timer_ != nullptr && self->is_pending_) self->timer_->cancel();
  });
}

bool Waker::is_pending() const {
  const MutexLock lock(mutex_);
  return is_pending_;
}

void Waker::attach(asio::steady_timer* timer) {
  const MutexLock lock(mutex_);
  timer_ = timer;
}

bool Waker::begin_wait() {
  const MutexLock lock(mutex_);
  is_waiting_ = !std::exchange(is_pending_, false);
  return is_waiting_;
}

bool Waker::end_wait() {
  const MutexLock lock(mutex_);
  is_waiting_ = false;
  return std::exchange(is_pending_, false);
}

Waiter::Waiter(const asio::any_io_executor& executor)
    : timer_(executor), waker_(std::make_shared<Waker>()) {
  waker_->attach(&timer_);
}

Waiter::~Waiter() { waker_->attach(nullptr); }

asio::awaitable<bool> Waiter::wait_for(std::chrono::nanoseconds time) {
  return wait_until(std::chrono::steady_clock::now() + time);
}

// Nothing else runs on this event loop between begin_wait() and the suspension: what a notification
// posts in between is executed after the wait has begun.
asio::awaitable<bool> Waiter::wait_until(Time time) {
  if (!waker_->begin_wait()) co_return true;
  timer_.expires_at(time);
  boost::system::error_code ignored;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return waker_->end_wait();
}

bool Waiter::take() { return waker_->end_wait(); }

void Notifier::subscribe(const Waiter& waiter) {
  const MutexLock lock(mutex_);
  if (subscribers_.size() == subscribers_.capacity()) {
    std::erase_if(subscribers_, [](const auto& subscriber) { return subscriber.expired(); });
  }
  subscribers_.push_back(waiter.waker());
}

void Notifier::notify_all() {
  const MutexLock lock(mutex_);
  std::erase_if(subscribers_, [](const auto& subscriber) {
    const auto waker = subscriber.lock();
    if (waker) waker->notify();
    return !waker;
  });
}

}  // namespace treaty
