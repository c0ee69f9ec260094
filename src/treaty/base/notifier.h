// Wakes coroutines that wait on their own event loops, from any thread.
//
//   Notifier changed;                                    // Shared with everybody who changes it.
//   Waiter waiter(co_await asio::this_coro::executor);   // The coroutine that waits subscribes
//   changed.subscribe(waiter);                           // before it looks for the first time.
//   while (!is_ready()) co_await waiter.wait_for(15s);
//   changed.notify_all();                                // On any thread, after the change.
//
// A notification that comes while the coroutine does not wait ends its next wait: none is lost.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "treaty/base/mutex.h"

namespace treaty {

// On the event loop of the coroutine that asks. Cancelling the coroutine ends it at once.
boost::asio::awaitable<void> sleep_for(std::chrono::steady_clock::duration time);

// Notifies one Waiter. Every function may be called on any thread, also after the Waiter and its
// event loop have gone; it does nothing then. Nobody notifies while the event loop is being
// destroyed: its threads are joined, and those that notify, before that.
class Waker : public std::enable_shared_from_this<Waker> {
 public:
  void notify();

  // There was a notification that no wait has taken yet.
  bool is_pending() const;

 private:
  friend class Waiter;

  void attach(boost::asio::steady_timer* timer);
  bool begin_wait();  // False: there is nothing to wait for.
  bool end_wait();    // Whether there was a notification.

  mutable Mutex mutex_;
  // The waiter's; null when it is gone.
  boost::asio::steady_timer* timer_ TREATY_GUARDED_BY(mutex_) = nullptr;
  bool is_waiting_ TREATY_GUARDED_BY(mutex_) = false;
  bool is_pending_ TREATY_GUARDED_BY(mutex_) = false;
};

// What one coroutine waits with. Belongs to the thread of its event loop.
class Waiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Waiter(const boost::asio::any_io_executor& executor);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  const std::shared_ptr<Waker>& waker() const { return waker_; }

  // Each takes the notification that ends it and answers true. False when the time was up, or when
  // the coroutine was cancelled.
  boost::asio::awaitable<bool> wait() { return wait_until(Time::max()); }
  boost::asio::awaitable<bool> wait_for(std::chrono::nanoseconds time);
  boost::asio::awaitable<bool> wait_until(Time time);

  // Takes a notification without waiting for one.
  bool take();

 private:
  boost::asio::steady_timer timer_;  // Cancelling it ends the wait.
  std::shared_ptr<Waker> waker_;
};

// Notifies all who have subscribed. Every function may be called on any thread.
class Notifier {
 public:
  // Until the waiter is gone.
  void subscribe(const Waiter& waiter);
  void notify_all();

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Waker>> subscribers_ TREATY_GUARDED_BY(mutex_);
};

}  // namespace treaty
