// What holds for every call, whatever its backends answer: random providers, policies, arrivals,
// deadlines and cancellations on a simulated clock.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <deque>
#include <limits>
#include <random>
#include <set>

#include "treaty/dispatch/dispatcher.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/simulation/limited_provider.h"
#include "treaty/testing/simulation/silence.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

constexpr Seconds kRounding = 1e-6;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  bool one_in(int times) { return below(times) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

Number any_number(Dice& dice) {
  if (dice.one_in(2)) return dice.of<Number>({0, 0.5, 1, 7, 30, 60});
  return dice.of<Number>({std::numeric_limits<std::int64_t>::min(), -1, 61, 3'600, 298'800,
                          std::numeric_limits<std::int64_t>::max()});
}

RateLimitState any_limits(Dice& dice, bool is_429) {
  RateLimitState state{.limited = is_429 || dice.one_in(4)};
  if (dice.one_in(is_429 ? 2 : 8)) state.retry_after = any_number(dice);
  const int windows = dice.below(3);
  for (int i = 0; i < windows; ++i) {
    RateLimitWindow window{
        .name = dice.of<std::string>({"requests", "requests_per_minute", "tokens_per_day"}),
        .resource = dice.of<std::string>({"requests", "tokens"}),
        .remaining = any_number(dice)};
    if (dice.one_in(2)) window.limit = any_number(dice);
    if (dice.one_in(2)) window.resets_in = any_number(dice);
    state.windows.push_back(std::move(window));
  }
  return state;
}

AgentResult any_result(Dice& dice) {
  AgentResult result;
  const int kind = dice.below(10);
  if (kind < 4) {
    result.content = "ok";
    if (dice.one_in(2)) result.usage = contracts::UsageInfo{.input_tokens = 9, .output_tokens = 3};
    if (dice.one_in(3)) result.rate_limit = any_limits(dice, false);
    return result;
  }
  result.error = AgentError{.message = "no", .code = "rate_limit", .retryable = true};
  if (kind < 7) {
    result.rate_limit = any_limits(dice, true);
    return result;
  }
  result.error->code = dice.of<std::string>(
      {"server_error", "timeout", "auth_error", "model_unavailable", "context_length"});
  result.error->retryable = result.error->code == "server_error" || dice.one_in(4);
  if (dice.one_in(4)) result.error->type = "ConnectionRefused";
  return result;
}

Policy any_policy(Dice& dice) {
  return {.max_wait = dice.of({0.0, 1.0, 60.0, 60.0, 600.0}),
          .max_attempts = 1 + dice.below(5),
          .backoff = dice.of<Backoffs>({{2, 8, 16, 35}, {}, {0.5}, {0, 1}}),
          .jitter = dice.of({0.0, 0.1, 1.0}),
          .max_concurrent = dice.of({0, 0, 1, 2}),
          .breaker_failures = dice.of({0, 2, 5}),
          .breaker_open = dice.of({1.0, 30.0})};
}

// One call, and what is seen of it.
struct Caller {
  int number = 0;
  Moment arrives = 0;
  Moment deadline = 0;
  std::optional<Moment> cancelled_at{};
  bool streams = false;
  bool continues_cuts = false;
  std::vector<Choice> chain{};

  std::map<std::string, int> asked{};
  std::set<std::string> given_up{};  // Backends that said that it is futile, or were cut.
  bool was_heard = false;
  bool has_ended = false;
  Moment answered = 0;  // The last time that a backend did.
  std::unique_ptr<asio::cancellation_signal> stop = std::make_unique<asio::cancellation_signal>();

  const Choice& choice(const std::string& backend) const {
    return *std::ranges::find(chain, backend, &Choice::backend);
  }
};

// What is seen of one pool, from the provider's side.
struct Ledger {
  Moment blocked_until = 0;
  int running = 0;
  std::vector<int> first_asked{};  // Calls whose first choice it is, as they came.
};

class World;

class Chaos final : public backends::Backend {
 public:
  Chaos(World& world, std::string name, std::string pool, std::uint64_t seed)
      : world_(world), name_(std::move(name)), pool_(std::move(pool)), dice_(seed) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override;

  const std::string& pool() const { return pool_; }

 private:
  World& world_;
  std::string name_;
  std::string pool_;
  Dice dice_;
};

class World {
 public:
  World(std::uint64_t seed, int calls) : dice_(seed) {
    const int backends = 1 + dice_.below(3);
    for (int i = 0; i < backends; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      // Sometimes two entries of the configuration are one pool.
      const std::string pool = i > 0 && dice_.one_in(4) ? "a" : name;
      backends_[name] = std::make_shared<Chaos>(*this, name, pool, dice_.seed());
      usual_.push_back(
          {.backend = name, .model = "m", .preference = i, .policy = any_policy(dice_)});
    }
    Moment at = clock_->seconds();
    for (int i = 0; i < calls; ++i) callers_.push_back(any_caller(i, at += any_pause()));
  }

  ~World() { loop_.reset(); }  // Calls that are still there after a failure go first.
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run() {
    dispatcher_.emplace(sources(), Dispatcher::Services{.pools = pools_, .seed = 1 + dice_.seed()});
    std::multimap<Moment, std::function<void()>> events;
    for (Caller& caller : callers_) {
      events.emplace(caller.arrives, [&] { begin(caller); });
      if (!caller.cancelled_at) continue;
      events.emplace(*caller.cancelled_at,
                     [&] { caller.stop->emit(asio::cancellation_type::terminal); });
    }
    for (const auto& [at, event] : events) {
      clock_->run(at);
      clock_->pass(std::max(at - clock_->seconds(), 0.0));
      event();
    }
    RC_ASSERT(clock_->run());  // testing::Silence waits any more.
    for (const Caller& caller : callers_) RC_ASSERT(caller.has_ended);
    for (const PoolView& view : pools_->view()) {
      RC_ASSERT(view.waiting == 0);
      RC_ASSERT(view.running == 0);
    }
    for (const auto& [pool, ledger] : ledgers_) {
      RC_ASSERT(std::ranges::is_sorted(ledger.first_asked));
    }
  }

  // A backend is asked: may it be?
  Caller& asked(const backends::Call& call, const std::string& backend, const std::string& pool) {
    Caller& caller = callers_[static_cast<std::size_t>(std::stoi(call.system))];
    Ledger& ledger = ledgers_[pool];
    const Policy& policy = caller.choice(backend).policy;
    RC_ASSERT(now() >= ledger.blocked_until - kRounding);
    RC_ASSERT(now() < caller.deadline);
    RC_ASSERT(!caller.has_ended);
    RC_ASSERT(!caller.given_up.contains(backend));
    RC_ASSERT(!caller.was_heard || caller.continues_cuts);
    RC_ASSERT(++caller.asked[backend] <= *policy.max_attempts);
    ++ledger.running;
    RC_ASSERT(policy.max_concurrent == 0 || ledger.running <= policy.max_concurrent);
    const bool is_first = caller.asked.size() == 1 && caller.asked[backend] == 1;
    if (is_first && caller.chain.front().backend == backend) {
      ledger.first_asked.push_back(caller.number);
    }
    return caller;
  }

  void answered(Caller& caller, const std::string& backend, const std::string& pool,
                const AgentResult& result, bool was_heard) {
    Ledger& ledger = ledgers_[pool];
    --ledger.running;
    caller.answered = now();
    if (!result.error) return;
    if (!result.error->retryable.value_or(false)) caller.given_up.insert(backend);
    if (was_heard) {
      caller.was_heard = true;
      caller.given_up.insert(backend);
    }
    if (!result.rate_limit || !result.rate_limit->limited || !result.rate_limit->retry_after)
      return;
    const Seconds asked = result.rate_limit->retry_after->value();
    ledger.blocked_until = std::max(ledger.blocked_until, now() + std::min(asked, kLongestBlock));
  }

  Moment now() const { return clock_->seconds(); }
  const std::shared_ptr<testing::FakeClock>& clock() const { return clock_; }

 private:
  Seconds any_pause() { return dice_.of({0.0, 0.0, 0.1, 1.0, 20.0, 70.0}); }

  Caller any_caller(int number, Moment at) {
    Caller caller;
    caller.number = number;
    caller.arrives = at;
    caller.deadline = at + dice_.of({0.0, 1.0, 30.0, 300.0, 300.0, 4'000.0});
    if (dice_.one_in(5)) caller.cancelled_at = at + dice_.of({0.0, 0.5, 2.0, 35.0});
    if (!caller.cancelled_at && dice_.one_in(2)) caller.cancelled_at = caller.deadline;
    caller.streams = dice_.one_in(2);
    caller.continues_cuts = dice_.one_in(3);
    caller.chain = usual_;
    if (dice_.one_in(3)) caller.chain.back().on = {"context_length", "server_error"};
    return caller;
  }

  BackendSources sources() {
    BackendSources sources;
    for (const auto& [name, backend] : backends_) {
      sources[name] = {.backend = backend, .pool_of = [pool = backend->pool()](const std::string&) {
                         return PoolName{.key = pool, .provider = pool};
                       }};
    }
    return sources;
  }

  void begin(Caller& caller) {
    asio::co_spawn(
        *loop_,
        dispatcher_->run(
            {.chain = caller.chain,
             .deadline = caller.deadline,
             .continues_cuts = caller.continues_cuts},
            {.model = "", .system = std::to_string(caller.number), .stream = caller.streams},
            nothing_, nothing_),
        asio::bind_cancellation_slot(
            caller.stop->slot(), [&](const std::exception_ptr& failed, const Dispatched&) {
              caller.has_ended = true;
              if (failed) std::rethrow_exception(failed);
              // No wait has gone beyond the deadline.
              RC_ASSERT(now() <=
                        std::max({caller.deadline, caller.answered, caller.arrives}) + kRounding);
            }));
  }

  std::unique_ptr<asio::io_context> loop_ = std::make_unique<asio::io_context>(1);
  std::shared_ptr<testing::FakeClock> clock_ = std::make_shared<testing::FakeClock>(*loop_);
  std::shared_ptr<Pools> pools_ = std::make_shared<Pools>(clock_);
  Dice dice_;
  std::map<std::string, std::shared_ptr<Chaos>> backends_{};
  std::vector<Choice> usual_{};
  std::deque<Caller> callers_{};
  std::map<std::string, Ledger> ledgers_{};
  std::optional<Dispatcher> dispatcher_{};
  testing::Silence nothing_{};
};

asio::awaitable<AgentResult> Chaos::run(const backends::Call& call, backends::Sink& sink) {
  co_await asio::this_coro::throw_if_cancelled(false);
  Caller& caller = world_.asked(call, name_, pool_);
  AgentResult result = any_result(dice_);
  const bool speaks = dice_.one_in(4);
  if (speaks) sink.on_text("x");
  co_await world_.clock()->sleep(dice_.of({0.0, 0.0, 0.1, 3.0, 20.0, 400.0}));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    result = {.finish_reason = "aborted", .error = AgentError{.message = "cut"}};
  }
  world_.answered(caller, name_, pool_, result, speaks && call.stream);
  co_return result;
}

TEST_CASE("Whatever backends answer, no call breaks a rule of dispatch, and every call ends") {
  CHECK(rc::check([](std::uint64_t seed) { World(seed, *rc::gen::inRange(1, 14)).run(); }));
}

// --- Pacing

struct Paced {
  int asked = 0;
  int refused = 0;
  int done = 0;
  Seconds took = 0;
};

// How calls come: so many together, and then again after a pause.
struct Bursts {
  int size = 1;
  Seconds apart = 0;
};

// Calls with all the time that they need.
Paced pace(const testing::LimitedProvider::Options& options, int calls, Bursts bursts) {
  asio::io_context loop{1};
  const auto clock = std::make_shared<testing::FakeClock>(loop);
  const auto provider = std::make_shared<testing::LimitedProvider>(clock, options);
  const Choice only{.backend = "a", .model = "m", .policy = {.max_wait = 1e6}};
  Dispatcher dispatcher(
      {{"a",
        {.backend = provider, .pool_of = [](const std::string&) { return PoolName{.key = "a"}; }}}},
      {.pools = std::make_shared<Pools>(clock), .seed = options.seed + 1});
  testing::Silence nothing;
  Paced paced;
  const Moment began = clock->seconds();
  for (int i = 0; i < calls; ++i) {
    asio::co_spawn(
        loop,
        dispatcher.run({.chain = std::span(&only, 1), .deadline = began + 1e6},
                       {.model = "", .system = std::string(2'000, 'x')}, nothing, nothing),
        [&](const std::exception_ptr&, const Dispatched& ended) {
          if (!ended.result.error) ++paced.done;
        });
    if ((i + 1) % bursts.size != 0) continue;
    const Moment next = clock->seconds() + bursts.apart;
    clock->run(next);
    clock->pass(std::max(next - clock->seconds(), 0.0));
  }
  clock->run();
  paced.asked = provider->asked;
  paced.refused = provider->refused;
  paced.took = clock->seconds() - began;
  return paced;
}

testing::LimitedProvider::Options any_limit(double capacity) {
  return {.limits = {{.name = "requests_per_minute",
                      .resource = "requests",
                      .capacity = capacity,
                      .refills = *rc::gen::arbitrary<bool>()}},
          .latency = *rc::gen::element(0.05, 0.5, 2.0, 8.0),
          .seed = *rc::gen::inRange<std::uint64_t>(1, 1'000)};
}

Bursts any_bursts(int calls, int capacity) {
  const std::vector<Bursts> ways = {
      Bursts{.size = calls}, Bursts{.apart = 0.05}, Bursts{.apart = 30.0 / capacity},
      Bursts{.size = capacity * 3 / 2, .apart = 170}, Bursts{.size = capacity / 2, .apart = 31}};
  return ways[*rc::gen::inRange<std::size_t>(0, ways.size())];
}

TEST_CASE("Pacing lets through what a limit of requests allows, and hardly anything more") {
  CHECK(rc::check([] {
    constexpr int kCalls = 600;
    const int capacity = *rc::gen::inRange(60, 300);
    const auto options = any_limit(capacity);
    const Bursts bursts = any_bursts(kCalls, capacity);

    const Paced paced = pace(options, kCalls, bursts);

    RC_LOG() << capacity << (options.limits[0].refills ? " bit by bit" : " at once") << ", latency "
             << options.latency << ", " << bursts.size << " every " << bursts.apart
             << " s: " << paced.refused << " of " << paced.asked << " refused, " << paced.took
             << " s\n";
    RC_ASSERT(paced.done == kCalls);
    RC_ASSERT(paced.refused <= paced.asked / 100);
  }));
}

}  // namespace
}  // namespace treaty::dispatch
