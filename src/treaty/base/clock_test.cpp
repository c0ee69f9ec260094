#include "treaty/base/clock.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <limits>
#include <optional>

#include "treaty/testing/simulation/fake_clock.h"

namespace treaty {
namespace {

namespace asio = boost::asio;

TEST_CASE("Seconds become the first time that is not before them, and are the same again") {
  for (const double seconds : {0.0, 0.1, 1'000.3, 1'000.1 + 0.2, 12'345'678.9, 1e9 / 3}) {
    CAPTURE(seconds);
    const SteadyTime time = steady_at(seconds);

    CHECK(steady_seconds(time) >= seconds);
    CHECK(steady_seconds(time) <= seconds + 1e-6);
  }
}

TEST_CASE("Times that the clock cannot express are at its ends") {
  CHECK(steady_at(std::numeric_limits<double>::infinity()) == SteadyTime::max());
  CHECK(steady_at(1e18) == SteadyTime::max());
  CHECK(steady_at(-1) == SteadyTime{});
}

TEST_CASE("Milliseconds since 1970 are rounded down") {
  CHECK(unix_milliseconds(WallTime(std::chrono::microseconds(1'999))) == 1);
  CHECK(unix_seconds(WallTime(std::chrono::milliseconds(1'500))) == 1.5);
}

TEST_CASE("A wait for a time that has passed ends at once") {
  asio::io_context loop;
  Waiter waiter(loop.get_executor());
  const auto clock = system_clock();
  std::optional<bool> answer;

  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> { answer = co_await clock->wait_until(waiter, clock->now()); },
      asio::detached);
  loop.poll();

  CHECK(answer == false);
}

TEST_CASE("The fake clock jumps to the end of a wait, and tells it from a notification") {
  asio::io_context loop;
  testing::FakeClock clock(loop);
  Waiter waiter(loop.get_executor());
  std::optional<bool> answer;
  const auto wait = [&]() -> asio::awaitable<void> {
    answer = co_await clock.wait_until(waiter, steady_at(clock.seconds() + 3'600));
  };

  asio::co_spawn(loop, wait(), asio::detached);
  CHECK(clock.run());
  CHECK(answer == false);
  CHECK(clock.seconds() == 4'600);

  asio::co_spawn(loop, wait(), asio::detached);
  CHECK(!clock.run(4'700));
  waiter.waker()->notify();
  CHECK(clock.run());
  CHECK(answer == true);
  CHECK(clock.seconds() == 4'700);
}

}  // namespace
}  // namespace treaty
