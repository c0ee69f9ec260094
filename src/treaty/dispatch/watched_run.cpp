#include "treaty/dispatch/watched_run.h"

#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <limits>
#include <utility>

#include "treaty/backends/failure_types.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

// Passes everything on, and notes when something came.
class WatchedSink final : public backends::Sink {
 public:
  WatchedSink(backends::Sink& sink, Clock& clock)
      : sink_(sink), clock_(clock), last_(steady_seconds(clock.now())) {}

  void on_text(std::string_view delta) override {
    note();
    sink_.on_text(delta);
  }
  void on_progress(std::string_view kind, std::string_view data) override {
    note();
    sink_.on_progress(kind, data);
  }
  void on_thinking(std::string_view delta) override {
    note();
    sink_.on_thinking(delta);
  }
  void on_thoughts(backends::Thoughts thoughts) override { sink_.on_thoughts(std::move(thoughts)); }
  void on_thoughts_left_out(std::string_view why) override { sink_.on_thoughts_left_out(why); }
  void on_cut(std::size_t bytes) override { sink_.on_cut(bytes); }
  bool wants_more() const override { return sink_.wants_more(); }
  void on_pictures_left_out() override { sink_.on_pictures_left_out(); }

  Moment last() const { return last_; }
  bool has_begun() const { return has_begun_; }

 private:
  void note() {
    last_ = steady_seconds(clock_.now());
    has_begun_ = true;
  }

  backends::Sink& sink_;
  Clock& clock_;
  Moment last_;
  bool has_begun_ = false;
};

// Until nothing has come for too long.
asio::awaitable<void> watch(const WatchedSink& sink, Clock& clock, SilenceLimits limits) {
  Waiter waiter(co_await asio::this_coro::executor);
  while (true) {
    const auto limit = sink.has_begun() ? limits.stall : limits.first_token;
    const Moment end = limit ? sink.last() + *limit : std::numeric_limits<Moment>::infinity();
    if (steady_seconds(clock.now()) >= end) co_return;
    // Looks again when the present limit would pass; one of them is always set.
    const Seconds pause = limit.value_or(limits.stall.value_or(limits.first_token.value_or(1)));
    co_await clock.wait_until(waiter, steady_at(limit ? end : steady_seconds(clock.now()) + pause));
    if (co_await backends::is_cancelled()) co_return;
  }
}

}  // namespace

asio::awaitable<AgentResult> run_watched(backends::Backend& backend, const backends::Call& call,
                                         backends::Sink& sink, Clock& clock, SilenceLimits limits) {
  using namespace asio::experimental::awaitable_operators;
  using namespace backends::failure_types;
  co_await asio::this_coro::throw_if_cancelled(false);
  WatchedSink watched(sink, clock);
  auto ended = co_await (backend.run(call, watched) || watch(watched, clock, limits));
  if (auto* result = std::get_if<AgentResult>(&ended)) co_return std::move(*result);
  if (co_await backends::is_cancelled()) co_return backends::aborted_result();
  const bool has_begun = watched.has_begun();
  const Seconds limit = (has_begun ? limits.stall : limits.first_token).value_or(0);
  co_return backends::failed_result(
      "timeout", std::string(has_begun ? kStallTimeout : kFirstTokenTimeout),
      fmt::format("nothing came for {:g} s ({})", limit, has_begun ? "stall" : "first_token"),
      true);
}

}  // namespace treaty::dispatch
