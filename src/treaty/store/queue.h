// Operations that wait for a thread of a store, and how their answers find the way back to the
// event loops of their callers. Independent of the database.
//
//   OperationQueue<Connection> queue(10'000);       // Any thread adds, threads of the store take.
//   auto answer = co_await submit<int>(queue, [](Connection& c) -> std::expected<int, Error> {…});
//
//   auto taken = queue.take(1);                     // On a thread of the store.
//   taken.front()->run(connection);
//   complete(std::move(taken));
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "treaty/base/mutex.h"
#include "treaty/store/task.h"

namespace treaty::store {

// `Context` is what a thread of the store works with. Used by one thread at a time.
template <class Context>
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void run(Context& context) = 0;  // May run more than once; the last time counts.
  virtual void fail(const Error& error) = 0;
  virtual const boost::asio::any_io_executor& executor() const = 0;  // The caller's loop,
  virtual void complete() = 0;  // where this is called, once, at the end: the caller goes on.
};

template <class Context, class T, class Work, class Handler>
class Awaited final : public Operation<Context> {
 public:
  Awaited(Work work, Handler handler)
      : work_(std::move(work)),
        executor_(boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                      boost::asio::execution::outstanding_work.tracked)),
        handler_(std::move(handler)) {}

  void run(Context& context) override { result_ = work_(context); }
  void fail(const Error& error) override { result_ = std::unexpected(error); }
  const boost::asio::any_io_executor& executor() const override { return executor_; }
  void complete() override { std::move(handler_)(std::move(result_)); }

 private:
  Work work_;
  boost::asio::any_io_executor executor_;  // The loop does not run dry while this waits.
  Handler handler_;
  std::expected<T, Error> result_{};
};

// Sends operations that are done back to their loops: one message for each loop, so that it wakes
// once for all of them.
template <class Context>
void complete(std::vector<std::unique_ptr<Operation<Context>>> done) {
  while (!done.empty()) {
    const boost::asio::any_io_executor executor = done.front()->executor();
    std::vector<std::unique_ptr<Operation<Context>>> theirs;
    std::vector<std::unique_ptr<Operation<Context>>> others;
    for (auto& item : done) {
      (item->executor() == executor ? theirs : others).push_back(std::move(item));
    }
    boost::asio::post(executor, [items = std::move(theirs)] {
      for (const auto& item : items) item->complete();
    });
    done = std::move(others);
  }
}

// `yielding`: a step of a long piece of work. It is taken when nothing else waits, and after seven
// batches of others, so that it neither holds them up nor waits forever. It is taken alone: when it
// fails, because a large step needs more of the disk than a turn does, no other fails with it.
enum class Priority { normal, yielding };

// A bounded queue between event loops and threads of the store. For any thread.
template <class ContextType>
class OperationQueue {
 public:
  using Context = ContextType;
  using Item = std::unique_ptr<Operation<Context>>;

  explicit OperationQueue(std::size_t most) : most_(most) {}

  // Answered at once with `unavailable` when there is no room, or nobody to serve it any more.
  void add(Item item, Priority priority = Priority::normal) {
    bool is_taken = false;
    bool is_awaited = false;
    {
      const MutexLock lock(mutex_);
      auto& line = priority == Priority::normal ? waiting_ : yielding_;
      is_taken = !is_closed_ && line.size() < most_;
      if (is_taken) line.push_back(std::move(item));
      is_awaited = sleepers_ > 0 && is_ready(wanted_);
    }
    if (is_taken) {
      if (is_awaited) ready_.notify_one();
      return;
    }
    item->fail({.code = ErrorCode::unavailable,  // NOLINT(bugprone-use-after-move): not taken.
                .message = "the store has more to do than it can take; try again later"});
    std::vector<Item> refused;
    refused.push_back(std::move(item));
    complete(std::move(refused));
  }

  // Waits for something to do, then takes all that waits, up to `most`, or one that yields. Empty:
  // closed and drained.
  std::vector<Item> take(std::size_t most) {
    MutexLock lock(mutex_);
    sleep(lock, 1, std::nullopt);
    std::vector<Item> taken;
    if (!yielding_.empty() && (waiting_.empty() || ++passed_over_ > kPassedOver)) {
      passed_over_ = 0;
      taken.push_back(std::move(yielding_.front()));
      yielding_.pop_front();
      return taken;
    }
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return taken;
  }

  // Waits until `wanted` of them wait, but not longer than that. For a queue with one taker.
  void gather(std::size_t wanted, std::chrono::nanoseconds patience) {
    MutexLock lock(mutex_);
    sleep(lock, wanted, std::chrono::steady_clock::now() + patience);
  }

  void close() {
    {
      const MutexLock lock(mutex_);
      is_closed_ = true;
    }
    ready_.notify_all();
  }

 private:
  static constexpr int kPassedOver = 7;

  bool is_ready(std::size_t wanted) const TREATY_REQUIRES(mutex_) {
    return waiting_.size() >= wanted || (wanted == 1 && !yielding_.empty()) || is_closed_;
  }

  void sleep(MutexLock& lock, std::size_t wanted,
             std::optional<std::chrono::steady_clock::time_point> until) TREATY_REQUIRES(mutex_) {
    if (is_ready(wanted)) return;
    wanted_ = wanted;
    ++sleepers_;
    for (bool is_in_time = true; is_in_time && !is_ready(wanted);) {
      if (until) {
        is_in_time = ready_.wait_until(lock, *until);
      } else {
        ready_.wait(lock);
      }
    }
    --sleepers_;
    wanted_ = 1;
  }

  const std::size_t most_;
  Mutex mutex_;
  ConditionVariable ready_;
  std::deque<Item> waiting_ TREATY_GUARDED_BY(mutex_);
  std::deque<Item> yielding_ TREATY_GUARDED_BY(mutex_);
  int passed_over_ TREATY_GUARDED_BY(mutex_) = 0;  // How often others were taken instead of those.
  std::size_t sleepers_ TREATY_GUARDED_BY(mutex_) = 0;
  std::size_t wanted_ TREATY_GUARDED_BY(mutex_) = 1;  // Fewer need not wake anybody.
  bool is_closed_ TREATY_GUARDED_BY(mutex_) = false;
};

// Has `work(context)` run on a thread of `queue` and answers what it answers.
template <class T, class Queue, class Work>
Task<T> submit(Queue& queue, Work work, Priority priority = Priority::normal) {
  using Context = typename Queue::Context;
  co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                 void(std::expected<T, Error>)>(
      [&queue, priority](auto handler, Work moved) {
        using Handler = decltype(handler);
        queue.add(std::make_unique<Awaited<Context, T, Work, Handler>>(std::move(moved),
                                                                       std::move(handler)),
                  priority);
      },
      boost::asio::use_awaitable, std::move(work));
}

}  // namespace treaty::store
