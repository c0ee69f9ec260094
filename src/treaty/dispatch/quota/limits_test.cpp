// What windows, breakers and places do to whole calls, on a simulated clock.
#include <doctest/doctest.h>

#include "treaty/testing/simulation/two_backends.h"

namespace treaty::testing {
namespace {

// --- Windows

TEST_CASE("A minute's limit is waited for, as long as the provider says") {
  Bench bench;
  bench.a->answers.push_back(refused(7, {used_up("requests_per_minute", 8)}));

  const auto ended = bench.run();

  REQUIRE(bench.a->asked_at.size() == 2);
  CHECK(bench.a->asked_at[1] - bench.a->asked_at[0] >= 8);
  CHECK(bench.b->asked_at.empty());
  CHECK(ended.call.result.content == "ok");
}

TEST_CASE("A window that keeps a call for longer than max_wait is not waited for in part") {
  Bench bench;
  bench.a->answers.push_back(refused(2, {used_up("requests_per_minute", 40)}));

  const auto ended = bench.run();

  CHECK(ended.lines == Lines{"a rate_limit", "a to b", "b ok"});
  CHECK(ended.took == 0);
}

TEST_CASE("A minute's limit without a known end is waited for a minute at the last backend") {
  Bench bench;
  bench.only_a();
  auto window = used_up("requests_per_minute", 0);
  window.resets_in.reset();
  bench.a->answers.push_back(refused(-1, {window}));

  bench.run();

  REQUIRE(bench.a->asked_at.size() == 2);
  CHECK(bench.a->asked_at[1] - bench.a->asked_at[0] >= 60);
}

TEST_CASE("An hour's limit leads to the next backend; without one it is waited for in time") {
  Bench bench;
  bench.a->answers.push_back(refused(200, {used_up("requests_per_hour", 200)}));
  CHECK(bench.run().lines == Lines{"a rate_limit", "a to b", "b ok"});

  Bench alone;
  alone.only_a();
  alone.a->answers.push_back(refused(200, {used_up("requests_per_hour", 200)}));
  CHECK(alone.run().took >= 200);

  Bench late;
  late.only_a();
  late.deadline = 100;
  late.a->answers.push_back(refused(200, {used_up("requests_per_hour", 200)}));
  const auto ended = late.run();
  CHECK(late.told(ended) == "rate_limit");
  CHECK(ended.took == 0);
  CHECK(ended.call.result.rate_limit->retry_after->value() >= 199);
}

TEST_CASE("A day's limit leads to the next backend, or is the end") {
  Bench bench;
  bench.a->answers.push_back(refused(30'000, {used_up("requests_per_day", 30'000)}));
  CHECK(bench.run().lines == Lines{"a rate_limit", "a to b", "b ok"});

  // Known now: nobody asks before.
  const auto again = bench.run();
  CHECK(again.lines == Lines{"a to b", "b ok"});
  CHECK(bench.a->asked_at.size() == 1);

  bench.only_a();
  const auto ended = bench.run();
  CHECK(bench.told(ended) == "rate_limit");
  CHECK(ended.call.result.error->retryable == true);
  CHECK(ended.call.result.rate_limit->retry_after->value() > 29'000);
  CHECK(!ended.call.limits.empty());
  CHECK(ended.took == 0);
}

TEST_CASE("A used-up window of a good answer keeps the next call until its reset") {
  Bench bench;
  AgentResult last = says("ok");
  last.rate_limit = RateLimitState{.limited = true, .windows = {used_up("requests_per_minute", 8)}};
  bench.a->answers.push_back(last);
  bench.run();

  const auto ended = bench.run();

  CHECK(ended.took >= 8);
  CHECK(ended.took < 10);
  CHECK(bench.b->asked_at.empty());
}

TEST_CASE("A wait that is longer than max_wait leads to the next backend") {
  Bench bench;
  bench.chain[0].policy.max_wait = 10;
  bench.a->answers.push_back(refused(20, {used_up("requests_per_minute", 20)}));

  CHECK(bench.run().lines == Lines{"a rate_limit", "a to b", "b ok"});
}

TEST_CASE("A retry-after on a success slows nothing down") {
  Bench bench;
  AgentResult good = says("ok");
  good.rate_limit = RateLimitState{.limited = false, .retry_after = 50};
  bench.a->answers = {good, good};

  bench.run();
  CHECK(bench.run().took == 0);
}

TEST_CASE("A provider that always says 429 and retry-after 0 is asked five times, not for ever") {
  Bench bench;
  bench.only_a();
  for (int i = 0; i < 20; ++i) bench.a->answers.push_back(refused(0));

  const auto ended = bench.run();

  CHECK(bench.a->asked_at.size() == 5);
  CHECK(bench.told(ended) == "rate_limit");
  CHECK(ended.took == doctest::Approx(60));
}

TEST_CASE("After a 429 the whole pool waits, not only the call that met it") {
  Bench bench;
  bench.only_a();
  bench.a->answers.push_back(refused(30));
  Diary first;
  Diary second;
  auto one = bench.begin(first);
  bench.clock->run(bench.clock->seconds() + 1);
  auto two = bench.begin(second);
  bench.clock->run();
  one.get();
  two.get();

  REQUIRE(bench.a->asked_at.size() == 3);
  CHECK(bench.a->asked_at[1] - bench.a->asked_at[0] >= 30);
  CHECK(bench.a->asked_at[2] - bench.a->asked_at[0] >= 30);
}

// --- Breaker, places, cancelling

TEST_CASE("Five failures in a row open the breaker: the next backend is asked at once") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  bench.run();
  bench.run();
  const auto first = bench.run();
  CHECK(std::ranges::find(first.lines, "a opened") != first.lines.end());

  const auto second = bench.run();
  CHECK(second.lines == Lines{"a to b", "b ok"});
  CHECK(second.took == 0);

  bench.clock->pass(30);
  const auto probe = bench.run();
  CHECK(probe.lines == Lines{"a ok", "a closed"});
}

TEST_CASE("While one probes, the others go elsewhere") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  for (int i = 0; i < 3; ++i) bench.run();
  bench.clock->pass(30);
  bench.a->takes = 5;
  Diary probe;
  Diary other;
  auto one = bench.begin(probe);
  auto two = bench.begin(other);
  bench.clock->run();
  one.get();
  two.get();

  CHECK(probe.lines == Lines{"a ok", "a closed"});
  CHECK(other.lines == Lines{"a to b", "b ok"});
}

TEST_CASE("Whoever waits in a backoff leaves when the breaker opens") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  std::array<Diary, 5> diaries;
  std::vector<std::future<Dispatched>> calls;
  calls.reserve(diaries.size());
  for (Diary& diary : diaries) calls.push_back(bench.begin(diary));
  bench.clock->run();

  for (auto& call : calls) CHECK(call.get().result.content == "ok");
  CHECK(bench.clock->seconds() < 1'002);  // Nobody has slept out its two seconds.
  CHECK(bench.b->asked_at.size() == 5);
}

TEST_CASE("No more calls at a time than the entry says, in the order they came") {
  Bench bench;
  bench.only_a();
  bench.chain[0].policy.max_concurrent = 2;
  bench.a->takes = 3;
  std::array<Diary, 6> diaries;
  std::vector<std::future<Dispatched>> calls;
  calls.reserve(diaries.size());
  for (Diary& diary : diaries) calls.push_back(bench.begin(diary));
  bench.clock->run();
  for (auto& call : calls) call.get();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 6);
  CHECK(at[2] - at[0] >= 3);
  CHECK(at[4] - at[2] >= 3);
}

TEST_CASE("A call that is cancelled while it waits ends at once, and leaves the line") {
  Bench bench;
  bench.only_a();
  bench.a->answers.push_back(refused(50));
  Diary diary;
  auto call = bench.begin_cancellable(diary);
  bench.clock->run(bench.clock->seconds() + 5);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.clock->run(bench.clock->seconds());

  REQUIRE(call.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(call.get().result.finish_reason == "aborted");
  CHECK(bench.pools->view().front().waiting == 0);
}

TEST_CASE("A call that its deadline cuts counts as a timeout of the backend") {
  Bench bench;
  bench.only_a();
  bench.deadline = 10;
  bench.a->takes = 100;
  Diary diary;
  auto call = bench.begin_cancellable(diary);
  bench.clock->run(bench.clock->seconds() + 10);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.clock->run();

  CHECK(call.get().result.error->code == "timeout");
  CHECK(bench.pools->view().front().failures == 1);
}

TEST_CASE("A backend that the deadline leaves little time has not failed") {
  Bench bench;
  bench.only_a();
  bench.deadline = 9;
  bench.a->takes = 100;
  Diary diary;
  auto call = bench.begin_cancellable(diary);
  bench.clock->run(bench.clock->seconds() + 9);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.clock->run();

  CHECK(call.get().result.error->code == "timeout");
  CHECK(bench.pools->view().front().failures == 0);
}

TEST_CASE("Why nobody is asked any more is told, also when nobody was asked at all") {
  Bench bench;
  bench.only_a();
  bench.a->answers.push_back(refused(30'000, {used_up("requests_per_day", 30'000)}));
  Diary first;
  Diary second;
  auto one = bench.begin(first);
  bench.clock->run();
  auto two = bench.begin(second);
  bench.clock->run();
  one.get();
  two.get();

  CHECK(first.why.contains("requests_per_day"));
  CHECK(second.why.contains("the deadline is before that"));
  CHECK(second.lines.empty());
}

}  // namespace
}  // namespace treaty::testing
