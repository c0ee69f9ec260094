#include "treaty/base/offload_pool.h"

#include <doctest/doctest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace treaty {
namespace {

namespace asio = boost::asio;
using Time = std::chrono::steady_clock::time_point;

template <class T>
T result_of(asio::awaitable<T> task) {
  asio::io_context loop;
  auto result = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.run();
  return result.get();
}

// A pool whose only thread is busy until it is let go.
struct BusyPool {
  explicit BusyPool(std::size_t most_waiting,
                    OffloadPool::AtEnd at_end = OffloadPool::AtEnd::finish)
      : pool({.threads = 1, .most_waiting = most_waiting, .at_end = at_end}) {
    pool.post([this] {
      began.count_down();
      go_on.wait();
    });
    began.wait();
  }
  std::latch began{1};
  std::latch go_on{1};
  OffloadPool pool;
};

TEST_CASE("Work runs on another thread and its caller goes on with the answer on its own") {
  OffloadPool pool({});
  std::thread::id beside;
  std::thread::id after;

  const auto answer = result_of([&]() -> asio::awaitable<int> {
    const auto result = co_await pool.run([&] {
      beside = std::this_thread::get_id();
      return 42;
    });
    after = std::this_thread::get_id();
    co_return result.value_or(0);
  }());

  CHECK(answer == 42);
  CHECK(beside != std::this_thread::get_id());
  CHECK(after == std::this_thread::get_id());
}

TEST_CASE("A full pool refuses work instead of growing") {
  BusyPool busy(1);
  CHECK(busy.pool.post([] {}));

  CHECK(!busy.pool.post([] {}));
  CHECK(result_of(busy.pool.run([] { return 1; })).error() == OffloadError::full);
  const auto late = result_of(busy.pool.run_until(Time::max(), [] { return 1; }, [](int) {}));
  REQUIRE(!late);
  CHECK(late.error() == OffloadError::full);
  busy.go_on.count_down();
}

TEST_CASE("An exception of the work is thrown where the work was asked for") {
  OffloadPool pool({});

  const auto thrown = result_of([&]() -> asio::awaitable<std::string> {
    try {
      co_await pool.run([]() -> int { throw std::runtime_error("no memory"); });
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
    co_return "";
  }());

  CHECK(thrown == "no memory");
}

TEST_CASE("Past its deadline work goes on without its caller, and its answer is undone") {
  BusyPool busy(10);
  int undone = 0;

  const auto answer = result_of(
      busy.pool.run_until(Time{}, [] { return 7; }, [&](int result) { undone = result; }));
  CHECK(answer.error() == OffloadError::given_up);
  CHECK(undone == 0);
  busy.go_on.count_down();
  CHECK(result_of(busy.pool.run([] { return true; })).value());  // All before it is done.

  CHECK(undone == 7);
}

TEST_CASE("A cancelled caller gives its work up") {
  BusyPool busy(10);
  asio::io_context loop;
  asio::cancellation_signal stop;
  bool gave_up = false;
  std::latch undone(1);
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        co_await asio::this_coro::throw_if_cancelled(false);
        const auto answer = co_await busy.pool.run_until(
            Time::max(), [] { return 7; }, [&](int) { undone.count_down(); });
        gave_up = answer == std::unexpected(OffloadError::given_up);
      },
      asio::bind_cancellation_slot(stop.slot(), asio::detached));
  loop.poll();

  stop.emit(asio::cancellation_type::terminal);
  loop.run();
  busy.go_on.count_down();
  undone.wait();

  CHECK(gave_up);
}

TEST_CASE("Work whose caller was destroyed with its event loop is undone") {
  BusyPool busy(10);
  std::latch undone(1);
  {
    asio::io_context loop;
    asio::co_spawn(loop,
                   busy.pool.run_until(
                       Time::max(), [] { return 7; }, [&](int) { undone.count_down(); }),
                   asio::detached);
    loop.poll();
  }

  busy.go_on.count_down();
  undone.wait();

  CHECK(undone.try_wait());
}

TEST_CASE("A pool that goes has done everything that was given to it") {
  std::atomic<int> done = 0;
  {
    OffloadPool pool({.threads = 2});
    for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
  }

  CHECK(done == 100);
}

TEST_CASE("A pool that abandons its work does not wait for it") {
  const auto go_on = std::make_shared<std::latch>(1);
  const auto began = std::make_shared<std::latch>(1);
  const auto ended = std::make_shared<std::latch>(1);
  {
    OffloadPool pool({.threads = 1, .at_end = OffloadPool::AtEnd::abandon});
    pool.post([=] {
      began->count_down();
      go_on->wait();
      ended->count_down();
    });
    began->wait();
  }  // Returns although the work has not ended.

  CHECK(!ended->try_wait());
  go_on->count_down();
  ended->wait();
}

TEST_CASE("Many event loops share a pool, and each of their callers gets its own answer") {
  constexpr int kLoops = 4;
  constexpr int kCalls = 500;
  OffloadPool pool({.threads = 3, .most_waiting = kLoops});
  std::atomic<int> right = 0;
  std::atomic<int> refused = 0;
  const auto ask = [&](int number) -> asio::awaitable<void> {
    for (int call = 0; call < kCalls; ++call) {
      const int wanted = number * kCalls + call;
      const auto answer = call % 2 == 0 ? co_await pool.run([wanted] { return wanted; })
                                        : co_await pool.run_until(
                                              Time::max(), [wanted] { return wanted; }, [](int) {});
      if (answer) right += *answer == wanted ? 1 : 0;
      if (!answer) ++refused;
    }
  };

  std::vector<std::jthread> threads;
  threads.reserve(kLoops);
  for (int i = 0; i < kLoops; ++i) {
    threads.emplace_back([&, i] {
      asio::io_context loop;
      asio::co_spawn(loop, ask(i), asio::detached);
      loop.run();
    });
  }
  threads.clear();

  CHECK(right == kLoops * kCalls);
  CHECK(refused == 0);
}

}  // namespace
}  // namespace treaty
