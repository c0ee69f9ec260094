// A bounded queue of operations between event loops and a thread of the store.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
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
      is_awaited = sleepers_ > 0;
      if (is_taken) waiting_.push_back(std::move(item));
    }
    if (is_taken) {
      if (is_awaited) ready_.notify_one();
      return;
    }
    item->fail({.code = ErrorCode::unavailable,  // NOLINT(bugprone-use-after-move): not taken.
                .message = "the store has more to do than it can take; try again later"});
    item->complete();
  }

  // Waits for something to do, then takes all that waits, up to `most`. Empty: closed and drained.
  std::vector<Item> take(std::size_t most) {
    std::unique_lock lock(mutex_);
    while (waiting_.empty() && !is_closed_) {
      ++sleepers_;
      ready_.wait(lock);
      --sleepers_;
    }
    std::vector<Item> taken;
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return taken;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    ready_.notify_all();
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Item> waiting_;
  std::size_t sleepers_ = 0;
  bool is_closed_ = false;
};

}  // namespace treaty::store::sqlite
