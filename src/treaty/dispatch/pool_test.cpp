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
struct Desk {
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
  Desk desk;
  const auto caller = desk.join();

  CHECK(desk.goes(caller));
  CHECK(desk.view().running == 1);
  desk.tell(caller, good());
  CHECK(desk.view().running == 0);
  CHECK(desk.view().next_free_in == 0);
  CHECK(desk.view().obstacle.empty());
}

TEST_CASE("Nobody who came later is let go before") {
  Desk desk;
  desk.policy.max_concurrent = 1;
  const auto runs = desk.join();
  REQUIRE(desk.goes(runs));
  const auto first = desk.join();
  const auto second = desk.join();
  CHECK(desk.ask(first)->obstacle == Obstacle::concurrency);
  CHECK(desk.ask(second)->obstacle == Obstacle::concurrency);
  CHECK(desk.view().waiting == 2);

  desk.tell(runs, good());

  CHECK(first.is_notified());
  CHECK(!second.is_notified());
  CHECK(!desk.goes(second));
  CHECK(!desk.goes(desk.join()));
  CHECK(desk.goes(first));
}

TEST_CASE("Whoever is let go wakes the next, who may fit in, too") {
  Desk desk;
  desk.policy.max_concurrent = 2;
  const auto one = desk.join();
  const auto two = desk.join();
  REQUIRE(desk.goes(one));
  REQUIRE(desk.goes(two));
  const auto first = desk.join();
  const auto second = desk.join();
  desk.ask(first);
  desk.ask(second);
  desk.tell(one, good());
  desk.tell(two, good());

  REQUIRE(desk.goes(first));

  CHECK(second.is_notified());
}

TEST_CASE("Who waits for a limit of its own keeps nobody else") {
  Desk desk;
  const auto runs = desk.join();
  REQUIRE(desk.goes(runs));
  desk.policy.max_concurrent = 1;
  const auto bound = desk.join();
  CHECK(desk.ask(bound)->obstacle == Obstacle::concurrency);

  desk.policy.max_concurrent = 0;
  CHECK(desk.goes(desk.join()));

  // As soon as it could go, it is before those who came later.
  desk.policy.max_concurrent = 3;
  CHECK(!desk.ask(bound));
}

TEST_CASE("Whoever leaves the head of the line wakes the next; from within it, nobody") {
  Desk desk;
  desk.call(refused(50));
  const auto first = desk.join();
  const auto second = desk.join();
  const auto third = desk.join();
  for (const auto& caller : {first, second, third}) CHECK(!desk.goes(caller));

  desk.pool.leave(second.place);
  CHECK(!first.is_notified());
  CHECK(!third.is_notified());

  desk.pool.leave(first.place);
  CHECK(third.is_notified());
  CHECK(desk.view().waiting == 1);

  desk.pool.leave(third.place);
  CHECK(desk.view().waiting == 0);
}

TEST_CASE("Whoever tries again keeps the place it had") {
  Desk desk;
  const auto early = desk.join();
  REQUIRE(desk.goes(early));
  desk.tell(early, refused(5));
  const auto late = desk.join();
  CHECK(!desk.goes(late));
  CHECK(!desk.goes(early));
  desk.now += 5;

  CHECK(!desk.goes(late));
  CHECK(desk.goes(early));
  desk.tell(early, good());
  CHECK(desk.goes(late));
}

TEST_CASE("A call that was dropped frees its place") {
  Desk desk;
  desk.policy.max_concurrent = 1;
  const auto runs = desk.join();
  const auto waits = desk.join();
  REQUIRE(desk.goes(runs));
  CHECK(!desk.goes(waits));

  desk.pool.drop(runs.place);

  CHECK(waits.is_notified());
  CHECK(desk.goes(waits));
  CHECK(desk.view().running == 1);
}

TEST_CASE("A place that nobody has is told, dropped and left without harm") {
  Desk desk;

  desk.pool.drop(77);
  desk.pool.leave(77);
  const auto told = desk.pool.tell(77, 0, bad(), desk.policy, desk.now);

  CHECK(!told.opened);
  CHECK(desk.view().failures == 0);
}

TEST_CASE("After a 429 everybody is woken, and waits for its retry_after") {
  Desk desk;
  desk.policy.max_concurrent = 1;
  const auto runs = desk.join();
  REQUIRE(desk.goes(runs));
  const auto first = desk.join();
  const auto second = desk.join();
  desk.ask(first);
  desk.ask(second);

  desk.tell(runs, refused(20));

  CHECK(first.is_notified());
  CHECK(second.is_notified());
  CHECK(desk.ask(first)->wait == 20);
  CHECK(desk.ask(desk.join())->obstacle == Obstacle::retry_after);
  CHECK(desk.view().blocked_for == 20);
  CHECK(desk.view().obstacle == "retry_after");
}

TEST_CASE("An opening breaker wakes everybody, also those in a backoff") {
  Desk desk;
  const auto dozes = desk.join();
  desk.pool.doze(dozes.place, dozes.waker());
  for (int i = 0; i < 4; ++i) desk.call(bad());
  CHECK(!dozes.is_notified());

  desk.call(bad());

  CHECK(dozes.is_notified());
  CHECK(desk.pool.is_open(desk.now));
  CHECK(desk.view().breaker == BreakerState::open);
  CHECK(desk.view().probe_in == 30);
  CHECK(desk.view().obstacle == "breaker");
  CHECK(desk.ask(desk.join())->obstacle == Obstacle::breaker);
}

TEST_CASE("Whoever has left its doze is not woken") {
  Desk desk;
  const auto dozes = desk.join();
  desk.pool.doze(dozes.place, dozes.waker());
  desk.pool.leave(dozes.place);
  for (int i = 0; i < 5; ++i) desk.call(bad());

  CHECK(!dozes.is_notified());
}

TEST_CASE("A probe that is dropped leaves room for another") {
  Desk desk;
  for (int i = 0; i < 5; ++i) desk.call(bad());
  desk.now += 30;
  const auto probe = desk.join();
  REQUIRE(desk.goes(probe));
  const auto other = desk.join();
  CHECK(desk.ask(other)->obstacle == Obstacle::breaker);

  desk.pool.drop(probe.place);

  CHECK(desk.goes(other));
  CHECK(desk.tell(other, good()).closed);
}

TEST_CASE("Those who waited for a window are spread over it") {
  Desk desk;
  desk.call(tells(0, 10));
  const auto first = desk.join();
  const auto second = desk.join();
  desk.ask(first);
  desk.ask(second);
  desk.now += 10;

  REQUIRE(desk.goes(first));

  const auto delay = desk.ask(second);
  REQUIRE(delay);
  CHECK(delay->wait == doctest::Approx(1));  // 60 in a minute.
  desk.now += 1;
  CHECK(desk.goes(second));
}

TEST_CASE("A newcomer to an empty line is not kept by the spread") {
  Desk desk;
  desk.call(tells(0, 10));
  const auto first = desk.join();
  desk.ask(first);
  desk.now += 10;
  REQUIRE(desk.goes(first));

  CHECK(desk.goes(desk.join()));
}

TEST_CASE("Before the first answer a pool with limits lets go 32 calls, one without any number") {
  Desk careful;
  for (int i = 0; i < 32; ++i) CHECK(careful.goes(careful.join()));
  CHECK(careful.ask(careful.join())->obstacle == Obstacle::warm_up);

  Pool bold({.key = "k", .has_limits = false});
  for (int i = 0; i < 1'000; ++i) {
    CHECK(!bold.ask(bold.join(), 1, {}, 0, nullptr));
  }
}

TEST_CASE("Answers without windows make a pool bolder, a refusal without them careful") {
  Desk desk;
  desk.call(good());
  std::vector<Desk::Caller> running(64);
  for (auto& caller : running) {
    caller = desk.join();
    CHECK(desk.goes(caller));
  }
  CHECK(!desk.goes(desk.join()));

  Desk hit;
  hit.call(refused(1));
  hit.now += 1;
  CHECK(hit.goes(hit.join()));
  CHECK(hit.ask(hit.join())->obstacle == Obstacle::warm_up);
}

TEST_CASE("A view shows every window as it is now") {
  Desk desk;
  desk.call(tells(10, 40));
  desk.now += 15;

  const auto view = desk.view();

  REQUIRE(view.windows.size() == 1);
  CHECK(view.windows[0].name == "requests_per_minute");
  CHECK(view.windows[0].remaining == 10);
  CHECK(view.windows[0].limit == 60.0);
  CHECK(view.windows[0].resets_in == 25);
  CHECK(view.windows[0].length == 60);
  desk.now += 25;
  CHECK(desk.view().windows[0].remaining == 60);
}

TEST_CASE("What a pool knows is there again after a restart, on another clock") {
  Desk desk;
  AgentResult taught = tells(0, 40);
  taught.usage = UsageInfo{.input_tokens = 200, .output_tokens = 7};
  desk.call(taught);
  CHECK(desk.pool.has_news());

  const auto state = desk.pool.save(desk.now, kUnix);
  CHECK(!desk.pool.has_news());
  Desk other;
  other.now = 5;
  REQUIRE(other.pool.restore(state, other.now, kUnix + 10));

  CHECK(other.ask(other.join())->wait == doctest::Approx(30));
  CHECK(other.pool.estimate().tokens_per_byte == 0.5);
  CHECK(other.pool.estimate().output_tokens == 7);
}

TEST_CASE("An open breaker and a block are there again after a restart") {
  Desk desk;
  for (int i = 0; i < 5; ++i) desk.call(bad());
  Desk ill;
  REQUIRE(ill.pool.restore(desk.pool.save(desk.now, kUnix), ill.now, kUnix + 1));
  CHECK(ill.ask(ill.join())->obstacle == Obstacle::breaker);
  CHECK(ill.view().failures == 5);

  Desk hit;
  hit.call(refused(50));
  Desk kept;
  REQUIRE(kept.pool.restore(hit.pool.save(hit.now, kUnix), kept.now, kUnix + 20));
  CHECK(kept.ask(kept.join())->wait == doctest::Approx(30));
}

TEST_CASE("A text that makes no sense changes nothing") {
  Desk desk;
  desk.call(refused(50));

  CHECK(!desk.pool.restore("{", desk.now, kUnix));

  CHECK(desk.view().blocked_for == 50);
}

TEST_CASE("Threads that come and go at once never exceed the limit, and leave nothing behind") {
  Desk desk;
  desk.policy.max_concurrent = 2;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> served = 0;
  const auto visit = [&](int thread) {
    for (int i = 0; i < 2'000; ++i) {
      const auto caller = desk.join();
      while (!desk.goes(caller)) std::this_thread::yield();
      const int now_inside = ++inside;
      for (int seen = most; now_inside > seen && !most.compare_exchange_weak(seen, now_inside);) {
      }
      --inside;
      ++served;
      if ((i + thread) % 3 == 0) {
        desk.pool.drop(caller.place);
      } else {
        desk.tell(caller, good());
      }
    }
  };

  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) threads.emplace_back(visit, i);
  threads.clear();

  CHECK(served == 6'000);
  CHECK(most <= 2);
  CHECK(desk.view().running == 0);
  CHECK(desk.view().waiting == 0);
}

}  // namespace
}  // namespace treaty::dispatch
