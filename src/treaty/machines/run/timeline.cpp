#include "treaty/machines/run/timeline.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <random>

namespace treaty::machines {
namespace {

namespace asio = boost::asio;

bool is_cancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

// Jobs that run side by side, and whoever waits for their end.
class JobGroup {
 public:
  JobGroup(Clock& clock, const asio::any_io_executor& executor, std::vector<Job> jobs,
           std::function<bool()> is_enough)
      : clock_(clock),
        executor_(executor),
        ended_(executor),
        jobs_(std::move(jobs)),
        is_enough_(std::move(is_enough)) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) signals_.emplace_back();
  }

  void begin_next() {
    if (begun_ == jobs_.size()) return;  // One that ended at once has begun the last.
    const std::size_t number = begun_++;
    ++running_;
    asio::co_spawn(executor_, quiet(jobs_[number]),
                   asio::bind_cancellation_slot(signals_[number].slot(),
                                                [this](const std::exception_ptr&) { on_ended(); }));
  }

  void stop() {
    is_stopped_ = true;
    for (std::size_t i = 0; i < begun_; ++i) signals_[i].emit(asio::cancellation_type::terminal);
  }

  // Until all have ended, or until that moment, or until whoever waits is cancelled.
  asio::awaitable<void> wait(double deadline) {
    while (running_ > 0 && clock_.now() < steady_at(deadline)) {
      co_await clock_.wait_until(ended_, steady_at(deadline));
      if (is_cancelled(co_await asio::this_coro::cancellation_state) && !is_stopped_) co_return;
    }
  }

  bool is_running() const { return running_ > 0; }

 private:
  static asio::awaitable<void> quiet(Job job) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await job();
  }

  void on_ended() {
    --running_;
    if (!is_stopped_ && is_enough_ && is_enough_()) stop();
    if (!is_stopped_) begin_next();
    if (running_ == 0) ended_.waker()->notify();
  }

  Clock& clock_;
  asio::any_io_executor executor_;
  Waiter ended_;
  std::vector<Job> jobs_;
  std::function<bool()> is_enough_;
  std::deque<asio::cancellation_signal> signals_{};
  std::size_t begun_ = 0;
  std::size_t running_ = 0;
  bool is_stopped_ = false;
};

class RealTimeline final : public Timeline {
 public:
  explicit RealTimeline(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  double now() const override { return steady_seconds(clock_->now()); }

  double unix_now() const override { return unix_seconds(clock_->wall_now()); }

  double chance() override { return std::uniform_real_distribution<double>(-1, 1)(random_); }

  asio::awaitable<bool> wait(double seconds) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);  // The shortest wait lets others run, too.
    if (is_cancelled(co_await asio::this_coro::cancellation_state)) co_return false;
    Waiter waiter(executor);
    co_await clock_->wait_until(waiter, steady_at(now() + seconds));
    co_return !is_cancelled(co_await asio::this_coro::cancellation_state);
  }

  asio::awaitable<bool> within(double deadline, Job job) override {
    if (deadline == kNever) {
      co_await job();
      co_return true;
    }
    std::vector<Job> jobs;
    jobs.push_back(std::move(job));
    co_return co_await run(std::move(jobs), 1, deadline, {});
  }

  asio::awaitable<void> together(std::vector<Job> jobs, std::size_t at_once,
                                 std::function<bool()> is_enough) override {
    co_await run(std::move(jobs), at_once, kNever, std::move(is_enough));
  }

  asio::awaitable<void> alongside(Job job, Job other) override {
    bool is_over = false;
    std::vector<Job> jobs;
    jobs.push_back([&]() -> asio::awaitable<void> {
      co_await job();
      is_over = true;
    });
    jobs.push_back(std::move(other));
    co_await run(std::move(jobs), 2, kNever, [&] { return is_over; });
  }

  asio::awaitable<void> beside(Job job) override {
    asio::co_spawn(co_await asio::this_coro::executor, std::move(job), asio::detached);
  }

 private:
  // False when the deadline ended it.
  asio::awaitable<bool> run(std::vector<Job> jobs, std::size_t at_once, double deadline,
                            std::function<bool()> is_enough) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::size_t first = std::min(jobs.size(), std::max<std::size_t>(at_once, 1));
    JobGroup group(*clock_, co_await asio::this_coro::executor, std::move(jobs),
                   std::move(is_enough));
    for (std::size_t i = 0; i < first; ++i) group.begin_next();
    co_await group.wait(deadline);
    if (!group.is_running()) co_return true;
    const bool is_late = now() >= deadline;
    group.stop();
    co_await group.wait(kNever);
    co_return !is_late;
  }

  std::shared_ptr<Clock> clock_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<Timeline> real_timeline(std::shared_ptr<Clock> clock) {
  return std::make_unique<RealTimeline>(std::move(clock));
}

}  // namespace treaty::machines
