// Two backends that say what a test tells them to, a dispatcher before them, and a clock that
// jumps.
#pragma once

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <deque>
#include <future>

#include "treaty/dispatch/dispatcher.h"
#include "treaty/testing/simulation/fake_clock.h"

namespace treaty::testing {

namespace asio = boost::asio;
using namespace dispatch;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

inline AgentResult says(std::string text) {
  return {.content = std::move(text), .finish_reason = "stop"};
}

inline AgentResult failure(std::string code, bool retryable = true) {
  return {.finish_reason = "error",
          .error = AgentError{.message = "no", .code = std::move(code), .retryable = retryable}};
}

inline AgentResult refused(double retry_after, std::vector<RateLimitWindow> windows = {}) {
  AgentResult result = failure("rate_limit");
  result.error->status_code = 429;
  result.rate_limit = RateLimitState{.limited = true, .windows = std::move(windows)};
  if (retry_after >= 0) result.rate_limit->retry_after = retry_after;
  return result;
}

inline RateLimitWindow used_up(std::string name, double resets_in) {
  return {.name = std::move(name),
          .resource = "requests",
          .remaining = 0,
          .limit = 60,
          .resets_in = resets_in};
}

// Says what it is told to say, and remembers when it was asked.
class Scripted final : public backends::Backend {
 public:
  explicit Scripted(std::shared_ptr<FakeClock> clock) : clock_(std::move(clock)) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    asked_at.push_back(clock_->seconds());
    calls.push_back(call);
    AgentResult result = answers.empty() ? says("ok") : answers.front();
    if (!answers.empty()) answers.pop_front();
    if (!text.empty()) sink.on_text(std::exchange(text, ""));
    if (takes > 0) {
      co_await clock_->sleep(takes);
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
  std::shared_ptr<FakeClock> clock_;
};

class ReceivedText final : public backends::Sink {
 public:
  void on_text(std::string_view delta) override { text += delta; }
  bool take_back() override {
    if (shows) return false;
    text.clear();
    return true;
  }
  std::string text{};
  bool shows = true;  // What it gets, at once.
};

class Diary final : public Observer {
 public:
  void on_attempt_started(const Choice&, int) override {}
  void on_attempt_ended(const Choice& choice, int, Seconds, const AgentResult& result) override {
    lines.push_back(fmt::format("{} {}", choice.backend,
                                result.error ? result.error->code.value_or("aborted") : "ok"));
  }
  void on_waiting(const Choice& choice, Seconds wait, const Why&) override {
    lines.push_back(fmt::format("wait for {} {:.0f}", choice.backend, wait));
  }
  void on_switched(const Choice& from, const Choice& to, const Why&) override {
    lines.push_back(fmt::format("{} to {}", from.backend, to.backend));
  }
  void on_given_up(const Choice&, const Why& reason) override { why = reason.reason; }
  void on_thoughts_dropped(const Choice& choice, const Why&) override {
    lines.push_back(fmt::format("thoughts dropped for {}", choice.backend));
  }
  void on_asked_again(const Choice& choice, const Why&) override {
    lines.push_back(fmt::format("{} again", choice.backend));
  }
  std::string why{};
  void on_breaker(const Choice& choice, bool is_open) override {
    lines.push_back(fmt::format("{} {}", choice.backend, is_open ? "opened" : "closed"));
  }
  std::vector<std::string> lines{};
};

using Lines = std::vector<std::string>;

// Two backends, a and b, and a clock. `prefill`: both continue an answer that was begun.
struct Bench {
  explicit Bench(bool prefill = false, Pace both = Pace::own)
      : continues_answers(prefill), pace(both) {}

  const bool continues_answers;
  const Pace pace;
  asio::io_context loop{1};
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(loop);
  std::shared_ptr<Scripted> a = std::make_shared<Scripted>(clock);
  std::shared_ptr<Scripted> b = std::make_shared<Scripted>(clock);
  std::shared_ptr<Pools> pools = std::make_shared<Pools>(clock);
  Dispatcher dispatcher{sources(), {.pools = pools, .seed = 7}};
  std::vector<Choice> chain = {{.backend = "a", .model = "m", .preference = 1},
                               {.backend = "b", .model = "m", .preference = 2}};
  backends::Call call_with{.model = ""};
  bool streams = false;
  bool continues_cuts = false;
  Seconds deadline = 300;
  ReceivedText sink{};
  asio::cancellation_signal stop{};

  BackendSources sources() {
    const auto pool_of = [](const std::string& name) {
      return [name](const std::string& model) {
        return PoolName{.key = name + "/" + model, .provider = name, .model = model};
      };
    };
    const auto source = [&](const auto& backend, const std::string& name) {
      return Source{
          .backend = backend,
          .pool_of = pool_of(name),
          .pace = pace,
          .author = name,
          .continues_answers = [does = continues_answers](const backends::Call&) { return does; }};
    };
    return {{"a", source(a, "a")}, {"b", source(b, "b")}};
  }

  backends::Call call_now() const {
    backends::Call call = call_with;
    call.stream = streams;
    return call;
  }
  asio::awaitable<Dispatched> call(Diary& diary) {
    return dispatcher.run(
        {.chain = chain, .deadline = clock->seconds() + deadline, .continues_cuts = continues_cuts},
        call_now(), sink, diary);
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
    const Moment began = clock->seconds();
    auto done = begin(diary);
    clock->run();
    return {done.get(), diary.lines, clock->seconds() - began};
  }

  void only_a() { chain.pop_back(); }
  std::string told(const Ended& ended) const { return ended.call.result.error->code.value_or(""); }
};

inline bool is_about(Seconds value, Seconds least) {
  return value >= least && value <= least * 1.1 + 0.001;
}

}  // namespace treaty::testing
