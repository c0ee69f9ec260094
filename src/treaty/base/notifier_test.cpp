#include "treaty/base/notifier.h"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace treaty {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// A coroutine that waits once, and what the wait has answered.
struct OneWait {
  asio::io_context loop{};
  Waiter waiter{loop.get_executor()};
  std::optional<bool> answer{};

  void begin(std::chrono::nanoseconds time) {
    asio::co_spawn(loop, wait(time), asio::detached);
    loop.poll();
  }
  void go_on() {
    loop.restart();
    loop.poll();
  }
  asio::awaitable<void> wait(std::chrono::nanoseconds time) {
    co_await asio::this_coro::throw_if_cancelled(false);
    answer = co_await waiter.wait_for(time);
  }
};

TEST_CASE("A notification ends the wait of whoever has subscribed") {
  Notifier notifier;
  OneWait one;
  notifier.subscribe(one.waiter);
  one.begin(1h);
  CHECK(!one.answer);

  notifier.notify_all();
  one.go_on();

  CHECK(one.answer == true);
}

TEST_CASE("A notification that comes before the wait ends it at once, and the next one waits") {
  OneWait one;
  one.waiter.waker()->notify();

  one.begin(1h);
  CHECK(one.answer == true);
  one.answer.reset();
  one.begin(1h);

  CHECK(!one.answer);
}

TEST_CASE("A wait that nobody ends is over when its time is up") {
  OneWait one;

  asio::co_spawn(one.loop, one.wait(1ns), asio::detached);
  one.loop.run();

  CHECK(one.answer == false);
}

TEST_CASE("Cancelling the coroutine ends its wait without a notification") {
  OneWait one;
  asio::cancellation_signal stop;
  asio::co_spawn(one.loop, one.wait(1h), asio::bind_cancellation_slot(stop.slot(), asio::detached));
  one.loop.poll();

  stop.emit(asio::cancellation_type::terminal);
  one.go_on();

  CHECK(one.answer == false);
}

TEST_CASE("A notification that was taken does not end the wait after it") {
  OneWait one;
  one.begin(1h);
  one.waiter.waker()->notify();  // Is on its way to the event loop.

  CHECK(one.waiter.take());
  one.go_on();

  CHECK(!one.answer);
}

TEST_CASE("All who have subscribed are notified, and those who have gone are forgotten") {
  Notifier notifier;
  OneWait first;
  OneWait second;
  notifier.subscribe(first.waiter);
  {
    const Waiter gone(first.loop.get_executor());
    notifier.subscribe(gone);
  }
  notifier.subscribe(second.waiter);

  notifier.notify_all();

  CHECK(first.waiter.take());
  CHECK(second.waiter.take());
}

TEST_CASE("A waker may be used after the waiter and its event loop have gone") {
  std::shared_ptr<Waker> waker;
  {
    OneWait one;
    waker = one.waiter.waker();
    one.begin(1h);
  }

  waker->notify();

  CHECK(!waker->is_pending());
}

TEST_CASE("Event loops that are notified by many threads miss no change") {
  constexpr int kLoops = 3;
  constexpr int kWriters = 3;
  constexpr int kChanges = 2'000;
  Notifier changed;
  std::atomic<int> value = 0;
  std::atomic<int> finished = 0;
  std::latch subscribed(kLoops);
  const auto follow = [&]() -> asio::awaitable<void> {
    Waiter waiter(co_await asio::this_coro::executor);
    changed.subscribe(waiter);
    subscribed.count_down();
    while (value < kWriters * kChanges) co_await waiter.wait();
    ++finished;
  };

  std::vector<std::jthread> threads;
  threads.reserve(kLoops);
  for (int i = 0; i < kLoops; ++i) {
    threads.emplace_back([&] {
      asio::io_context loop;
      asio::co_spawn(loop, follow(), asio::detached);
      loop.run();
    });
  }
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&] {
      subscribed.wait();
      for (int change = 0; change < kChanges; ++change) {
        ++value;
        changed.notify_all();
      }
    });
  }
  threads.clear();

  CHECK(finished == kLoops);
}

TEST_CASE("Waiters come and go while another thread notifies") {
  Notifier notifier;
  std::atomic<bool> is_over = false;
  std::jthread notifies([&] {
    while (!is_over) notifier.notify_all();
  });

  for (int i = 0; i < 500; ++i) {
    asio::io_context loop;
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
          Waiter waiter(co_await asio::this_coro::executor);
          notifier.subscribe(waiter);
          for (int wait = 0; wait < 3; ++wait) co_await waiter.wait();
        },
        asio::detached);
    loop.run();
  }
  is_over = true;
  notifies.join();

  asio::io_context loop;
  const Waiter last(loop.get_executor());
  notifier.subscribe(last);
  notifier.notify_all();
  CHECK(last.waker()->is_pending());
}

}  // namespace
}  // namespace treaty
