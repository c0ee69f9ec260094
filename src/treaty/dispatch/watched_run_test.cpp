#include "treaty/dispatch/watched_run.h"

#include <doctest/doctest.h>

#include "treaty/testing/simulation/two_backends.h"

namespace treaty::testing {
namespace {

// Says a word after each of these silences, and ends.
class Slow final : public backends::Backend {
 public:
  Slow(FakeClock& clock, std::vector<Seconds> silences)
      : clock_(clock), silences_(std::move(silences)) {}

  asio::awaitable<AgentResult> run(const backends::Call& /*call*/, backends::Sink& sink) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    for (const Seconds silence : silences_) {
      co_await clock_.sleep(silence);
      if (co_await backends::is_cancelled()) co_return backends::aborted_result();
      sink.on_text("word ");
    }
    co_return says("done");
  }

 private:
  FakeClock& clock_;
  std::vector<Seconds> silences_;
};

struct Watched {
  AgentResult result{};
  std::string text{};
  Seconds took = 0;
};

Watched watch(std::vector<Seconds> silences, SilenceLimits limits) {
  asio::io_context loop{1};
  FakeClock clock(loop);
  Slow backend(clock, std::move(silences));
  ReceivedText sink;
  const backends::Call call{.model = ""};
  const Moment began = clock.seconds();
  Watched watched;
  auto done =
      asio::co_spawn(loop, run_watched(backend, call, sink, clock, limits), asio::use_future);
  clock.run();
  watched.result = done.get();
  return {std::move(watched.result), sink.text, clock.seconds() - began};
}

TEST_CASE("A backend that speaks in time ends by itself") {
  const Watched watched = watch({2, 1, 1}, {.first_token = 3, .stall = 2});

  CHECK(watched.result.content == "done");
  CHECK(watched.text == "word word word ");
}

TEST_CASE("A backend that says nothing within first_token is ended") {
  const Watched watched = watch({100}, {.first_token = 3, .stall = 2});

  REQUIRE(watched.result.error);
  CHECK(watched.result.error->type == "FirstTokenTimeout");
  CHECK(is_own_timeout(*watched.result.error));
  CHECK(watched.took == doctest::Approx(3));
}

TEST_CASE("A backend that falls silent for longer than stall is ended, and what it said stays") {
  const Watched watched = watch({1, 1, 100}, {.first_token = 3, .stall = 2});

  REQUIRE(watched.result.error);
  CHECK(watched.result.error->type == "StallTimeout");
  CHECK(watched.text == "word word ");
  CHECK(watched.took == doctest::Approx(4));
}

TEST_CASE("Only the limit that is set is kept") {
  CHECK(!watch({50, 50}, {.stall = 60}).result.error);
  CHECK(!watch({2, 50}, {.first_token = 3}).result.error);
  CHECK(watch({50, 70}, {.stall = 60}).result.error->type == "StallTimeout");
}

}  // namespace
}  // namespace treaty::testing
