#include "treaty/machines/run/timeline.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace treaty::machines {
namespace {

namespace asio = boost::asio;

TEST_CASE("A wait that is over at once lets others run") {
  constexpr int kMostWaits = 1'000;
  asio::io_context loop;
  const auto timeline = real_timeline();
  bool has_run = false;
  int waits = 0;
  const auto wait_again_and_again = [&]() -> asio::awaitable<void> {
    asio::post(loop, [&] { has_run = true; });
    for (; !has_run && waits < kMostWaits; ++waits) co_await timeline->wait(0);
  };

  asio::co_spawn(loop, wait_again_and_again, asio::detached);
  loop.run();

  CHECK(has_run);
  CHECK(waits < kMostWaits);
}

TEST_CASE("What runs alongside a job ends with it, also when it has only begun to wait") {
  asio::io_context loop;
  const auto timeline = real_timeline();
  bool has_ended = false;
  const auto run = [&]() -> asio::awaitable<void> {
    co_await timeline->alongside([]() -> asio::awaitable<void> { co_return; },
                                 [&]() -> asio::awaitable<void> { co_await timeline->wait(100); });
    has_ended = true;
  };

  asio::co_spawn(loop, run, asio::detached);
  loop.poll();

  CHECK(has_ended);
}

}  // namespace
}  // namespace treaty::machines
