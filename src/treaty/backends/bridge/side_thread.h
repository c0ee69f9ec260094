// A thread beside an event loop, for work that waits for the disk. Whoever wants the result may
// stop waiting for it at any time; the work then undoes itself.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace treaty::backends {

// Belongs to the thread of one event loop, which outlives it. What was begun is finished before it
// is gone; work is done in the order in which it is given.
class SideThread {
 public:
  using Time = std::chrono::steady_clock::time_point;

  SideThread() = default;
  ~SideThread() {
    if (pool_) pool_->join();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // Work whose result nobody waits for.
  template <class Work>
  void leave(Work work) {
    boost::asio::post(pool(), std::move(work));
  }

  // What `work` answers; nothing when the coroutine was cancelled or the deadline came first. Then
  // `undo` gets the answer, on the side thread.
  template <class Work, class Undo>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work&>>> run(Work work, Time deadline,
                                                                         Undo undo) {
    using Result = std::invoke_result_t<Work&>;
    auto executor = co_await boost::asio::this_coro::executor;
    auto job = std::make_shared<Job<Result>>(executor, deadline);
    boost::asio::post(pool(),
                      [job, executor, work = std::move(work), undo = std::move(undo)]() mutable {
                        job->result.emplace(work());
                        State expected = State::running;
                        if (job->state.compare_exchange_strong(expected, State::done)) {
                          boost::asio::post(executor, [job] { job->timer.cancel(); });
                        } else {
                          undo(*job->result);
                        }
                      });
    boost::system::error_code ignored;
    co_await job->timer.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    State expected = State::running;
    if (job->state.compare_exchange_strong(expected, State::given_up)) co_return std::nullopt;
    co_return std::move(job->result);
  }

 private:
  enum class State { running, done, given_up };

  template <class Result>
  struct Job {
    Job(const boost::asio::any_io_executor& executor, Time deadline) : timer(executor, deadline) {}
    boost::asio::steady_timer timer;  // The loop's alone.
    std::atomic<State> state = State::running;
    std::optional<Result> result{};  // The side thread's until the state is done.
  };

  boost::asio::thread_pool& pool() {
    if (!pool_) pool_.emplace(1);
    return *pool_;
  }

  std::optional<boost::asio::thread_pool> pool_{};  // None until there is work for it.
};

}  // namespace treaty::backends
