// The line before one backend: who goes, in which order, and who is notified.
#include "treaty/dispatch/pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace treaty::dispatch {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;
using contracts::UsageInfo;

constexpr double kUnix = 1'700'000'000;

AgentResult good() { return {.content = "ok"}; }

AgentResult tells(Number remaining, Number resets_in) {
  AgentResult result = good();
  result.rate_limit = RateLimitState{.windows = {RateLimitWindow{.name = "requests_per_minute",
                                                                 .resource = "requests",
                                                                 .remaining = remaining,
                                                                 .limit = 60,
                                                                 .resets_in = resets_in}}};
  return result;
}

AgentResult bad(std::string code = "server_error") {
  return {.error = AgentError{.message = "no", .code = std::move(code), .retryable = true}};
}

AgentResult refused(double retry_after) {
  AgentResult result = bad("rate_limit");
  result.rate_limit = RateLimitState{.limited = true, .retry_after = retry_after};
  return result;
}

// A pool, and callers who stand before it.
struct PoolFixture {
  boost::asio::io_context loop{};
  Pool pool{{.key = "k", .provider = "p", .model = "m"}};
  Policy policy{};
  Moment now = 100;

  struct Caller {
    std::uint64_t place = 0;
    std::shared_ptr<Waiter> waiter{};
    const std::shared_ptr<Waker>& waker() const { return waiter->waker(); }
    bool is_notified() const { return waker()->is_pending(); }
  };
  Caller join() {
    return {.place = pool.join(), .waiter = std::make_shared<Waiter>(loop.get_executor())};
  }
  std::optional<Delay> ask(const Caller& caller) {
    return pool.ask(caller.place, 400, policy, now, caller.waker());
  }
  // True: it was let go.
  bool goes(const Caller& caller) { return !ask(caller); }
  Breaker::Told tell(const Caller& caller, const AgentResult& result) {
    return pool.tell(caller.place, 400, result, policy, now);
  }
  void call(const AgentResult& result) {
    const Caller caller = join();
    REQUIRE(goes(caller));
    tell(caller, result);
  }
  PoolView view() const { return pool.view(now); }
};

TEST_CASE("A free pool lets a call go and counts it until it is told") {
  PoolFixture fixture;
  const auto caller = fixture.join();

  CHECK(fixture.goes(caller));
  CHECK(fixture.view().running == 1);
  fixture.tell(caller, good());
  CHECK(fixture.view().running == 0);
  CHECK(fixture.view().next_free_in == 0);
  CHECK(fixture.view().obstacle.empty());
}

TEST_CASE("Nobody who came later is let go before") {
  PoolFixture fixture;
  fixture.policy.max_concurrent = 1;
  const auto runs = fixture.join();
  REQUIRE(fixture.goes(runs));
  const auto first = fixture.join();
  const auto second = fixture.join();
  CHECK(fixture.ask(first)->obstacle == Obstacle::concurrency);
  CHECK(fixture.ask(second)->obstacle == Obstacle::concurrency);
  CHECK(fixture.view().waiting == 2);

  fixture.tell(runs, good());

  CHECK(first.is_notified());
  CHECK(!second.is_notified());
  CHECK(!fixture.goes(second));
  CHECK(!fixture.goes(fixture.join()));
  CHECK(fixture.goes(first));
}

TEST_CASE("Whoever is let go wakes the next, who may fit in, too") {
  PoolFixture fixture;
  fixture.policy.max_concurrent = 2;
  const auto one = fixture.join();
  const auto two = fixture.join();
  REQUIRE(fixture.goes(one));
  REQUIRE(fixture.goes(two));
  const auto first = fixture.join();
  const auto second = fixture.join();
  fixture.ask(first);
  fixture.ask(second);
  fixture.tell(one, good());
  fixture.tell(two, good());

  REQUIRE(fixture.goes(first));

  CHECK(second.is_notified());
}

TEST_CASE("Who waits for a limit of its own keeps nobody else") {
  PoolFixture fixture;
  const auto runs = fixture.join();
  REQUIRE(fixture.goes(runs));
  fixture.policy.max_concurrent = 1;
  const auto bound = fixture.join();
  CHECK(fixture.ask(bound)->obstacle == Obstacle::concurrency);

  fixture.policy.max_concurrent = 0;
  CHECK(fixture.goes(fixture.join()));

  // As soon as it could go, it is before those who came later.
  fixture.policy.max_concurrent = 3;
  CHECK(!fixture.ask(bound));
}

TEST_CASE("Whoever leaves the head of the line wakes the next; from within it, nobody") {
  PoolFixture fixture;
  fixture.call(refused(50));
  const auto first = fixture.join();
  const auto second = fixture.join();
  const auto third = fixture.join();
  for (const auto& caller : {first, second, third}) CHECK(!fixture.goes(caller));

  fixture.pool.leave(second.place);
  CHECK(!first.is_notified());
  CHECK(!third.is_notified());

  fixture.pool.leave(first.place);
  CHECK(third.is_notified());
  CHECK(fixture.view().waiting == 1);

  fixture.pool.leave(third.place);
  CHECK(fixture.view().waiting == 0);
}

TEST_CASE("Whoever tries again keeps the place it had") {
  PoolFixture fixture;
  const auto early = fixture.join();
  REQUIRE(fixture.goes(early));
  fixture.tell(early, refused(5));
  const auto late = fixture.join();
  CHECK(!fixture.goes(late));
  CHECK(!fixture.goes(early));
  fixture.now += 5;

  CHECK(!fixture.goes(late));
  CHECK(fixture.goes(early));
  fixture.tell(early, good());
  CHECK(fixture.goes(late));
}

TEST_CASE("A call that was dropped frees its place") {
  PoolFixture fixture;
  fixture.policy.max_concurrent = 1;
  const auto runs = fixture.join();
  const auto waits = fixture.join();
  REQUIRE(fixture.goes(runs));
  CHECK(!fixture.goes(waits));

  fixture.pool.drop(runs.place);

  CHECK(waits.is_notified());
  CHECK(fixture.goes(waits));
  CHECK(fixture.view().running == 1);
}

TEST_CASE("A place that nobody has is told, dropped and left without harm") {
  PoolFixture fixture;

  fixture.pool.drop(77);
  fixture.pool.leave(77);
  const auto told = fixture.pool.tell(77, 0, bad(), fixture.policy, fixture.now);

  CHECK(!told.opened);
  CHECK(fixture.view().failures == 0);
}

TEST_CASE("After a 429 everybody is woken, and waits for its retry_after") {
  PoolFixture fixture;
  fixture.policy.max_concurrent = 1;
  const auto runs = fixture.join();
  REQUIRE(fixture.goes(runs));
  const auto first = fixture.join();
  const auto second = fixture.join();
  fixture.ask(first);
  fixture.ask(second);

  fixture.tell(runs, refused(20));

  CHECK(first.is_notified());
  CHECK(second.is_notified());
  CHECK(fixture.ask(first)->wait == 20);
  CHECK(fixture.ask(fixture.join())->obstacle == Obstacle::retry_after);
  CHECK(fixture.view().blocked_for == 20);
  CHECK(fixture.view().obstacle == "retry_after");
}

TEST_CASE("An opening breaker wakes everybody, also those in a backoff") {
  PoolFixture fixture;
  const auto dozes = fixture.join();
  fixture.pool.doze(dozes.place, dozes.waker());
  for (int i = 0; i < 4; ++i) fixture.call(bad());
  CHECK(!dozes.is_notified());

  fixture.call(bad());

  CHECK(dozes.is_notified());
  CHECK(fixture.pool.is_open(fixture.now));
  CHECK(fixture.view().breaker == BreakerState::open);
  CHECK(fixture.view().probe_in == 30);
  CHECK(fixture.view().obstacle == "breaker");
  CHECK(fixture.ask(fixture.join())->obstacle == Obstacle::breaker);
}

TEST_CASE("Whoever has left its doze is not woken") {
  PoolFixture fixture;
  const auto dozes = fixture.join();
  fixture.pool.doze(dozes.place, dozes.waker());
  fixture.pool.leave(dozes.place);
  for (int i = 0; i < 5; ++i) fixture.call(bad());

  CHECK(!dozes.is_notified());
}

TEST_CASE("A probe that is dropped leaves room for another") {
  PoolFixture fixture;
  for (int i = 0; i < 5; ++i) fixture.call(bad());
  fixture.now += 30;
  const auto probe = fixture.join();
  REQUIRE(fixture.goes(probe));
  const auto other = fixture.join();
  CHECK(fixture.ask(other)->obstacle == Obstacle::breaker);

  fixture.pool.drop(probe.place);

  CHECK(fixture.goes(other));
  CHECK(fixture.tell(other, good()).closed);
}

TEST_CASE("Those who waited for a window are spread over it") {
  PoolFixture fixture;
  fixture.call(tells(0, 10));
  const auto first = fixture.join();
  const auto second = fixture.join();
  fixture.ask(first);
  fixture.ask(second);
  fixture.now += 10;

  REQUIRE(fixture.goes(first));

  const auto delay = fixture.ask(second);
  REQUIRE(delay);
  CHECK(delay->wait == doctest::Approx(1));  // 60 in a minute.
  fixture.now += 1;
  CHECK(fixture.goes(second));
}

TEST_CASE("A newcomer to an empty line is not kept by the spread") {
  PoolFixture fixture;
  fixture.call(tells(0, 10));
  const auto first = fixture.join();
  fixture.ask(first);
  fixture.now += 10;
  REQUIRE(fixture.goes(first));

  CHECK(fixture.goes(fixture.join()));
}

TEST_CASE("Before the first answer a pool with limits lets go 32 calls, one without any number") {
  PoolFixture careful;
  for (int i = 0; i < 32; ++i) CHECK(careful.goes(careful.join()));
  CHECK(careful.ask(careful.join())->obstacle == Obstacle::warm_up);

  Pool bold({.key = "k", .has_limits = false});
  for (int i = 0; i < 1'000; ++i) {
    CHECK(!bold.ask(bold.join(), 1, {}, 0, nullptr));
  }
}

TEST_CASE("Answers without windows make a pool bolder, a refusal without them careful") {
  PoolFixture fixture;
  fixture.call(good());
  std::vector<PoolFixture::Caller> running(64);
  for (auto& caller : running) {
    caller = fixture.join();
    CHECK(fixture.goes(caller));
  }
  CHECK(!fixture.goes(fixture.join()));

  PoolFixture hit;
  hit.call(refused(1));
  hit.now += 1;
  CHECK(hit.goes(hit.join()));
  CHECK(hit.ask(hit.join())->obstacle == Obstacle::warm_up);
}

TEST_CASE("A view shows every window as it is now") {
  PoolFixture fixture;
  fixture.call(tells(10, 40));
  fixture.now += 15;

  const auto view = fixture.view();

  REQUIRE(view.windows.size() == 1);
  CHECK(view.windows[0].name == "requests_per_minute");
  CHECK(view.windows[0].remaining == 10);
  CHECK(view.windows[0].limit == 60.0);
  CHECK(view.windows[0].resets_in == 25);
  CHECK(view.windows[0].length == 60);
  fixture.now += 25;
  CHECK(fixture.view().windows[0].remaining == 60);
}

TEST_CASE("What a pool knows is there again after a restart, on another clock") {
  PoolFixture fixture;
  AgentResult taught = tells(0, 40);
  taught.usage = UsageInfo{.input_tokens = 200, .output_tokens = 7};
  fixture.call(taught);
  CHECK(fixture.pool.has_news());

  const auto state = fixture.pool.save(fixture.now, kUnix);
  CHECK(!fixture.pool.has_news());
  PoolFixture other;
  other.now = 5;
  REQUIRE(other.pool.restore(state, other.now, kUnix + 10));

  CHECK(other.ask(other.join())->wait == doctest::Approx(30));
  CHECK(other.pool.estimate().tokens_per_byte == 0.5);
  CHECK(other.pool.estimate().output_tokens == 7);
}

TEST_CASE("An open breaker and a block are there again after a restart") {
  PoolFixture fixture;
  for (int i = 0; i < 5; ++i) fixture.call(bad());
  PoolFixture ill;
  REQUIRE(ill.pool.restore(fixture.pool.save(fixture.now, kUnix), ill.now, kUnix + 1));
  CHECK(ill.ask(ill.join())->obstacle == Obstacle::breaker);
  CHECK(ill.view().failures == 5);

  PoolFixture hit;
  hit.call(refused(50));
  PoolFixture kept;
  REQUIRE(kept.pool.restore(hit.pool.save(hit.now, kUnix), kept.now, kUnix + 20));
  CHECK(kept.ask(kept.join())->wait == doctest::Approx(30));
}

TEST_CASE("A text that makes no sense changes nothing") {
  PoolFixture fixture;
  fixture.call(refused(50));

  CHECK(!fixture.pool.restore("{", fixture.now, kUnix));

  CHECK(fixture.view().blocked_for == 50);
}

TEST_CASE("Threads that come and go at once never exceed the limit, and leave nothing behind") {
  PoolFixture fixture;
  fixture.policy.max_concurrent = 2;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> served = 0;
  const auto visit = [&](int thread) {
    for (int i = 0; i < 2'000; ++i) {
      const auto caller = fixture.join();
      while (!fixture.goes(caller)) std::this_thread::yield();
      const int now_inside = ++inside;
      for (int seen = most; now_inside > seen && !most.compare_exchange_weak(seen, now_inside);) {
      }
      --inside;
      ++served;
      if ((i + thread) % 3 == 0) {
        fixture.pool.drop(caller.place);
      } else {
        fixture.tell(caller, good());
      }
    }
  };

  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) threads.emplace_back(visit, i);
  threads.clear();

  CHECK(served == 6'000);
  CHECK(most <= 2);
  CHECK(fixture.view().running == 0);
  CHECK(fixture.view().waiting == 0);
}

}  // namespace
}  // namespace treaty::dispatch
