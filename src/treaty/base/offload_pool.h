// Threads beside the event loops, for work that blocks or takes long. Its queue has a bound.
//
//   OffloadPool pool({.threads = 2, .most_waiting = 100});
//   const auto verdict = co_await pool.run([&] { return check(body); });
//   if (!verdict) co_return too_busy();  // 503: more waits than the pool takes.
//   co_return json_response(200, *verdict);
//
// Every function may be called on any thread; a coroutine resumes on the thread from which it
// called. Threads are started when there is work for them. A pool that finishes its work is
// destroyed before the event loops of its callers: its threads use the loop for a moment after a
// caller was resumed.
#pragma once

#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "treaty/base/notifier.h"

namespace treaty {

enum class OffloadError : std::uint8_t {
  full,      // As many wait as may wait, or no thread can be started.
  given_up,  // The time was up, or the coroutine was cancelled.
};

// Work on a text with more bytes than this would block an event loop for too long.
inline constexpr std::size_t kManyBytes = std::size_t{256} << 10U;

class OffloadPool {
 public:
  // What happens to work that is left when the pool goes.
  enum class AtEnd : std::uint8_t {
    finish,   // The destructor waits until all of it is done.
    abandon,  // Nobody waits: what has begun goes on by itself and owns all that it uses.
  };
  struct Options {
    std::size_t threads = 1;
    std::size_t most_waiting = 1'024;
    AtEnd at_end = AtEnd::finish;
  };

  explicit OffloadPool(Options options);
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  // Work whose result nobody waits for. False: the pool is full, and the work is not done.
  bool post(std::move_only_function<void()> work);

  // What `work` answers. Cancelling the coroutine does not end the wait: the work may refer to the
  // coroutine's variables. For a pool that finishes its work.
  template <class Work>
  boost::asio::awaitable<std::expected<std::invoke_result_t<Work&>, OffloadError>> run(Work work);

  // The same, until the deadline comes or the coroutine is cancelled or destroyed. From then on the
  // work goes on without it, and its answer is given to `undo` on the pool's thread. The work owns
  // all that it uses.
  template <class Work, class Undo>
  boost::asio::awaitable<std::expected<std::invoke_result_t<Work&>, OffloadError>> run_until(
      std::chrono::steady_clock::time_point deadline, Work work, Undo undo);

 private:
  class Queue;

  template <class Result>
  struct Job {
    enum class State : std::uint8_t { running, done, given_up };
    // True for the one who comes first.
    bool become(State state) {
      State expected = State::running;
      return state_.compare_exchange_strong(expected, state);
    }
    std::optional<Result> result{};  // The pool's until the job is done.

   private:
    std::atomic<State> state_ = State::running;
  };

  std::shared_ptr<Queue> queue_;
};

template <class Work>
boost::asio::awaitable<std::expected<std::invoke_result_t<Work&>, OffloadError>> OffloadPool::run(
    Work work) {
  namespace asio = boost::asio;
  std::optional<std::invoke_result_t<Work&>> result;
  const auto begin = [&](auto handler) {
    // The event loop does not end while the work goes on.
    auto executor = asio::prefer(asio::get_associated_executor(handler),
                                 asio::execution::outstanding_work.tracked);
    const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    const auto resume = [executor, shared](const std::exception_ptr& failed) {
      asio::post(executor, [shared, failed] { std::move (*shared)(failed); });
    };
    const bool is_taken = post([&work, &result, resume] {
      std::exception_ptr failed;
      try {
        result.emplace(work());
      } catch (...) {  // A library's, or no memory: the caller's, as if it had run there.
        failed = std::current_exception();
      }
      resume(failed);
    });
    if (!is_taken) resume(nullptr);
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr)>(
      begin, asio::use_awaitable);
  if (!result) co_return std::unexpected(OffloadError::full);
  co_return std::move(*result);
}

template <class Work, class Undo>
boost::asio::awaitable<std::expected<std::invoke_result_t<Work&>, OffloadError>>
OffloadPool::run_until(std::chrono::steady_clock::time_point deadline, Work work, Undo undo) {
  using ThisJob = Job<std::invoke_result_t<Work&>>;
  using State = typename ThisJob::State;
  struct Asker {  // Gives up also when the coroutine is destroyed.
    std::shared_ptr<ThisJob> job;
    explicit Asker(std::shared_ptr<ThisJob> asked) : job(std::move(asked)) {}
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;
    ~Asker() { job->become(State::given_up); }
  };
  const Asker asker(std::make_shared<ThisJob>());
  Waiter waiter(co_await boost::asio::this_coro::executor);
  const bool is_taken = post([job = asker.job, waker = waiter.waker(), work = std::move(work),
                              undo = std::move(undo)]() mutable {
    job->result.emplace(work());
    if (job->become(State::done)) {
      waker->notify();
    } else {
      undo(*job->result);
    }
  });
  if (!is_taken) co_return std::unexpected(OffloadError::full);
  co_await waiter.wait_until(deadline);
  if (asker.job->become(State::given_up)) co_return std::unexpected(OffloadError::given_up);
  co_return std::move(*asker.job->result);
}

}  // namespace treaty
