// Dispatch as a whole, on a simulated clock: what is asked, when, and what is told about it.
#include "treaty/dispatch/dispatcher.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <deque>
#include <future>

#include "treaty/testing/simulation/fake_time.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

AgentResult says(std::string text) { return {.content = std::move(text), .finish_reason = "stop"}; }

AgentResult failure(std::string code, bool retryable = true) {
  return {.finish_reason = "error",
          .error = AgentError{.message = "no", .code = std::move(code), .retryable = retryable}};
}

AgentResult refused(double retry_after, std::vector<RateLimitWindow> windows = {}) {
  AgentResult result = failure("rate_limit");
  result.error->status_code = 429;
  result.rate_limit = RateLimitState{.limited = true, .windows = std::move(windows)};
  if (retry_after >= 0) result.rate_limit->retry_after = retry_after;
  return result;
}

RateLimitWindow used_up(std::string name, double resets_in) {
  return {.name = std::move(name),
          .resource = "requests",
          .remaining = 0,
          .limit = 60,
          .resets_in = resets_in};
}

// Says what it is told to say, and remembers when it was asked.
class Scripted final : public backends::Backend {
 public:
  explicit Scripted(std::shared_ptr<testing::FakeTime> time) : time_(std::move(time)) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    asked_at.push_back(time_->now());
    calls.push_back(call);
    AgentResult result = answers.empty() ? says("ok") : answers.front();
    if (!answers.empty()) answers.pop_front();
    if (!text.empty()) sink.on_text(std::exchange(text, ""));
    if (takes > 0) {
      const auto alarm = time_->alarm(co_await asio::this_coro::executor);
      co_await alarm->wait_until(time_->now() + takes);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) {
        co_return AgentResult{.finish_reason = "aborted", .error = AgentError{.message = "cut"}};
      }
    }
    co_return result;
  }

  std::deque<AgentResult> answers{};  // Then "ok".
  std::string text{};                 // Streamed by the next call before its answer.
  Seconds takes = 0;
  std::vector<Moment> asked_at{};
  std::vector<backends::Call> calls{};

 private:
  std::shared_ptr<testing::FakeTime> time_;
};

class Silence final : public backends::Sink {
 public:
  void on_text(std::string_view delta) override { text += delta; }
  std::string text{};
};

class Diary final : public Observer {
 public:
  void on_attempt_started(const Choice&, int) override {}
  void on_attempt_ended(const Choice& choice, int, Seconds, const AgentResult& result) override {
    lines.push_back(fmt::format("{} {}", choice.backend,
                                result.error ? result.error->code.value_or("aborted") : "ok"));
  }
  void on_waiting(const Choice& choice, Seconds wait, std::string_view) override {
    lines.push_back(fmt::format("wait for {} {:.0f}", choice.backend, wait));
  }
  void on_switched(const Choice& from, const Choice& to, std::string_view) override {
    lines.push_back(fmt::format("{} to {}", from.backend, to.backend));
  }
  void on_given_up(const Choice&, std::string_view reason) override { why = reason; }
  std::string why{};
  void on_breaker(const Choice& choice, bool is_open) override {
    lines.push_back(fmt::format("{} {}", choice.backend, is_open ? "opened" : "closed"));
  }
  std::vector<std::string> lines{};
};

using Lines = std::vector<std::string>;

// Two backends, a and b, and a clock.
struct Bench {
  asio::io_context loop{1};
  std::shared_ptr<testing::FakeTime> time = std::make_shared<testing::FakeTime>(loop);
  std::shared_ptr<Scripted> a = std::make_shared<Scripted>(time);
  std::shared_ptr<Scripted> b = std::make_shared<Scripted>(time);
  std::shared_ptr<Pools> pools = std::make_shared<Pools>(time);
  Dispatcher dispatcher{sources(), {.pools = pools, .seed = 7}};
  std::vector<Choice> chain = {{.backend = "a", .model = "m", .preference = 1},
                               {.backend = "b", .model = "m", .preference = 2}};
  bool streams = false;
  bool continues_cuts = false;
  Seconds deadline = 300;
  Silence sink{};
  asio::cancellation_signal stop{};

  Sources sources() {
    const auto pool_of = [](std::string name) {
      return [name](const std::string& model) {
        return PoolName{.key = name + "/" + model, .provider = name, .model = model};
      };
    };
    return {{"a", {.backend = a, .pool_of = pool_of("a")}},
            {"b", {.backend = b, .pool_of = pool_of("b")}}};
  }

  asio::awaitable<Dispatched> call(Diary& diary) {
    return dispatcher.run(
        {.chain = chain, .deadline = time->now() + deadline, .continues_cuts = continues_cuts},
        {.model = "", .stream = streams}, sink, diary);
  }
  std::future<Dispatched> begin(Diary& diary) {
    return asio::co_spawn(loop, call(diary), asio::use_future);
  }
  std::future<Dispatched> begin_cancellable(Diary& diary) {
    return asio::co_spawn(loop, call(diary),
                          asio::bind_cancellation_slot(stop.slot(), asio::use_future));
  }

  struct Ended {
    Dispatched call;
    Lines lines;
    Seconds took = 0;
  };
  Ended run() {
    Diary diary;
    const Moment began = time->now();
    auto done = begin(diary);
    time->run();
    return {done.get(), diary.lines, time->now() - began};
  }

  void only_a() { chain.pop_back(); }
  std::string told(const Ended& ended) const { return ended.call.result.error->code.value_or(""); }
};

bool is_about(Seconds value, Seconds least) {
  return value >= least && value <= least * 1.1 + 0.001;
}

// --- Trying again

TEST_CASE("A first choice that answers is asked once, and nobody else is") {
  Bench bench;

  const auto ended = bench.run();

  CHECK(ended.call.result.content == "ok");
  CHECK(ended.lines == Lines{"a ok"});
  CHECK(bench.b->asked_at.empty());
}

TEST_CASE(
    "What may pass is tried again after 2, 8, 16 and 35 seconds and a little, then elsewhere") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  bench.chain[0].policy.breaker_failures = 0;

  const auto ended = bench.run();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 5);
  CHECK(is_about(at[1] - at[0], 2));
  CHECK(is_about(at[2] - at[1], 8));
  CHECK(is_about(at[3] - at[2], 16));
  CHECK(is_about(at[4] - at[3], 35));
  CHECK(ended.call.result.content == "ok");
  CHECK(ended.lines.back() == "b ok");
}

TEST_CASE("What does not pass by itself is not tried again") {
  for (const std::string code : {"auth_error", "model_unavailable", "rate_limit"}) {
    Bench bench;
    bench.a->answers.push_back(failure(code, false));

    const auto ended = bench.run();

    CHECK(ended.lines == Lines{"a " + code, "a to b", "b ok"});
    CHECK(ended.took == 0);
  }
}

TEST_CASE("What every backend would refuse is not tried elsewhere, unless an entry wants it") {
  for (const std::string code : {"context_length", "content_filter", "invalid_request"}) {
    Bench bench;
    bench.a->answers.push_back(failure(code, false));
    CHECK(bench.run().lines == Lines{"a " + code});

    bench.chain[1].on = {code};
    bench.a->answers.push_back(failure(code, false));
    CHECK(bench.run().lines == Lines{"a " + code, "a to b", "b ok"});
  }
}

TEST_CASE("An entry with conditions is not asked for other failures, nor first") {
  Bench bench;
  bench.chain[1].on = {"context_length"};
  bench.a->answers.push_back(failure("auth_error", false));
  CHECK(bench.run().lines == Lines{"a auth_error"});

  std::swap(bench.chain[0].preference, bench.chain[1].preference);
  CHECK(bench.run().lines == Lines{"a ok"});
}

TEST_CASE("Where nobody answers, the second attempt is the last when there is another backend") {
  Bench bench;
  AgentResult nobody = failure("server_error");
  nobody.error->type = "ConnectionRefused";
  bench.a->answers = {nobody, nobody, nobody};

  CHECK(bench.run().lines ==
        Lines{"a server_error", "wait for a 2", "a server_error", "a to b", "b ok"});

  bench.a->answers = {nobody, nobody};
  bench.only_a();
  CHECK(bench.run().call.result.content == "ok");
}

TEST_CASE("No wait goes past the deadline: the failure is told at once") {
  Bench bench;
  bench.only_a();
  bench.deadline = 9;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  CHECK(bench.a->asked_at.size() == 2);
  CHECK(ended.took < 9);
  CHECK(bench.told(ended) == "server_error");
}

TEST_CASE("After the first text a failure is the answer") {
  Bench bench;
  bench.streams = true;
  bench.a->text = "Hel";
  bench.a->answers.push_back(failure("server_error"));

  CHECK(bench.run().lines == Lines{"a server_error"});
}

TEST_CASE("Text that no client was sent does not keep a call from being tried again") {
  Bench bench;
  bench.a->text = "Hel";
  bench.a->answers.push_back(failure("server_error"));

  CHECK(bench.run().lines == Lines{"a server_error", "wait for a 2", "a ok"});
}

TEST_CASE("With on_cut: continue another backend goes on where the first was cut") {
  Bench bench;
  bench.streams = true;
  bench.continues_cuts = true;
  bench.a->text = "Hello wo";
  bench.a->answers.push_back(failure("server_error"));
  bench.b->text = "rld";
  bench.b->answers.push_back(says("rld"));

  const auto ended = bench.run();

  CHECK(ended.call.was_continued);
  CHECK(ended.call.result.content == "Hello world");
  CHECK(bench.sink.text == "Hello world");
  const auto& messages = bench.b->calls.front().messages;
  REQUIRE(messages.size() == 2);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "Hello wo");
}

TEST_CASE("Usage and cost of failed attempts count") {
  Bench bench;
  AgentResult cut = failure("server_error");
  cut.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 1};
  cut.cost = 0.5;
  AgentResult good = says("ok");
  good.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 5, .api_calls = 1};
  good.cost = 0.25;
  bench.a->answers = {cut, failure("timeout"), good};

  const auto result = bench.run().call.result;

  CHECK(result.usage->input_tokens == 20);
  CHECK(result.usage->output_tokens == 6);
  CHECK(result.usage->api_calls == 3);
  CHECK(std::get<double>(*result.cost) == 0.75);
}

// --- Windows

TEST_CASE("A minute's limit is waited for, as long as the provider says") {
  Bench bench;
  bench.a->answers.push_back(refused(20, {used_up("requests_per_minute", 40)}));

  const auto ended = bench.run();

  REQUIRE(bench.a->asked_at.size() == 2);
  CHECK(bench.a->asked_at[1] - bench.a->asked_at[0] >= 20);
  CHECK(bench.b->asked_at.empty());
  CHECK(ended.call.result.content == "ok");
}

TEST_CASE("A minute's limit without a known end is waited for a minute") {
  Bench bench;
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
  last.rate_limit =
      RateLimitState{.limited = true, .windows = {used_up("requests_per_minute", 25)}};
  bench.a->answers.push_back(last);
  bench.run();

  const auto ended = bench.run();

  CHECK(ended.took >= 25);
  CHECK(ended.took < 30);
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
  CHECK(ended.took >= 61);
}

TEST_CASE("After a 429 the whole pool waits, not only the call that met it") {
  Bench bench;
  bench.a->answers.push_back(refused(30));
  Diary first;
  Diary second;
  auto one = bench.begin(first);
  bench.time->run(bench.time->now() + 1);
  auto two = bench.begin(second);
  bench.time->run();
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
  const auto first = bench.run();
  CHECK(std::ranges::find(first.lines, "a opened") != first.lines.end());

  const auto second = bench.run();
  CHECK(second.lines == Lines{"a to b", "b ok"});
  CHECK(second.took == 0);

  bench.time->pass(30);
  const auto probe = bench.run();
  CHECK(probe.lines == Lines{"a ok", "a closed"});
}

TEST_CASE("While one probes, the others go elsewhere") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  bench.run();
  bench.time->pass(30);
  bench.a->takes = 5;
  Diary probe;
  Diary other;
  auto one = bench.begin(probe);
  auto two = bench.begin(other);
  bench.time->run();
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
  for (Diary& diary : diaries) calls.push_back(bench.begin(diary));
  bench.time->run();

  for (auto& call : calls) CHECK(call.get().result.content == "ok");
  CHECK(bench.time->now() < 1'002);  // Nobody has slept out its two seconds.
  CHECK(bench.b->asked_at.size() == 5);
}

TEST_CASE("No more calls at a time than the entry says, in the order they came") {
  Bench bench;
  bench.only_a();
  bench.chain[0].policy.max_concurrent = 2;
  bench.a->takes = 3;
  std::array<Diary, 6> diaries;
  std::vector<std::future<Dispatched>> calls;
  for (Diary& diary : diaries) calls.push_back(bench.begin(diary));
  bench.time->run();
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
  bench.time->run(bench.time->now() + 5);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.time->run(bench.time->now());

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
  bench.time->run(bench.time->now() + 10);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.time->run();

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
  bench.time->run(bench.time->now() + 9);

  bench.stop.emit(asio::cancellation_type::terminal);
  bench.time->run();

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
  bench.time->run();
  auto two = bench.begin(second);
  bench.time->run();
  one.get();
  two.get();

  CHECK(first.why.contains("requests_per_day"));
  CHECK(second.why.contains("the deadline is before that"));
  CHECK(second.lines.empty());
}

TEST_CASE("A second cut is continued from all that was said, told once") {
  Bench bench;
  bench.streams = true;
  bench.continues_cuts = true;
  bench.chain.push_back({.backend = "a", .model = "n", .preference = 3});
  bench.a->text = "One ";
  bench.b->text = "two ";
  bench.a->answers = {failure("server_error"), says("three")};
  bench.b->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  CHECK(ended.call.result.content == "One two three");
  const auto& messages = bench.a->calls.back().messages;
  REQUIRE(messages.size() == 2);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "One two ");
}

TEST_CASE("Equals are drawn by their weights") {
  Bench bench;
  bench.chain[1].preference = 1;
  bench.chain[0].weight = 3;
  for (int i = 0; i < 400; ++i) bench.run();

  CHECK(bench.a->asked_at.size() > 260);
  CHECK(bench.a->asked_at.size() < 340);
  CHECK(bench.a->asked_at.size() + bench.b->asked_at.size() == 400);
}

TEST_CASE("A backend that nobody configured is a failure, not a crash") {
  Bench bench;
  bench.chain = {{.backend = "c"}};

  CHECK(bench.told(bench.run()) == "model_unavailable");
}

TEST_CASE("An agent without a backend fails, too") {
  Bench bench;
  bench.chain.clear();

  CHECK(bench.told(bench.run()) == "model_unavailable");
}

}  // namespace
}  // namespace treaty::dispatch
