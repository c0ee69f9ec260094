// A bounded queue of operations between event loops and a thread of the store.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "treaty/store/sqlite/operation.h"

namespace treaty::store::sqlite {

template <class ContextType>
class Queue {
 public:
  using Context = ContextType;
  using Item = std::unique_ptr<Operation<Context>>;

  explicit Queue(std::size_t most) : most_(most) {}

  // Answered at once with `unavailable` when there is no room, or nobody to serve it any more.
  void add(Item item) {
    bool is_taken = false;
    bool is_awaited = false;
    {
      const std::lock_guard lock(mutex_);
      is_taken = !is_closed_ && waiting_.size() < most_;
      if (is_taken) waiting_.push_back(std::move(item));
      is_awaited = sleepers_ > 0 && waiting_.size() >= wanted_;
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

  // Waits for something to do, then takes all that waits, up to `most`. Empty: closed and drained.
  std::vector<Item> take(std::size_t most) {
    std::unique_lock lock(mutex_);
    sleep(lock, 1, std::nullopt);
    std::vector<Item> taken;
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return taken;
  }

  // Waits until `wanted` of them wait, but not longer than that. For a queue with one taker.
  void gather(std::size_t wanted, std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    sleep(lock, wanted, std::chrono::steady_clock::now() + patience);
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    ready_.notify_all();
  }

 private:
  void sleep(std::unique_lock<std::mutex>& lock, std::size_t wanted,
             std::optional<std::chrono::steady_clock::time_point> until) {
    const auto is_ready = [&] { return waiting_.size() >= wanted || is_closed_; };
    if (is_ready()) return;
    wanted_ = wanted;
    ++sleepers_;
    if (until) {
      ready_.wait_until(lock, *until, is_ready);
    } else {
      ready_.wait(lock, is_ready);
    }
    --sleepers_;
    wanted_ = 1;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Item> waiting_;
  std::size_t sleepers_ = 0;
  std::size_t wanted_ = 1;  // Fewer need not wake anybody.
  bool is_closed_ = false;
};

}  // namespace treaty::store::sqlite
