// The thread that writes for a store: it takes all operations that wait into one transaction and
// answers them when that is committed. Independent of the database, which is a function that runs a
// batch and commits it.
//
//   BatchWriter<const Transaction> writer([&](std::span<Item> batch) { return attempt(batch); });
//   co_await submit<void>(writer, [](const Transaction& transaction) { … });
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "treaty/store/queue.h"

namespace treaty::store {

// Why nothing of a batch was committed.
struct BatchFailure {
  Error error{};
  bool is_of_one = false;  // One operation is the cause: the others can be committed without it.
};

template <class ContextType>
class BatchWriter {
 public:
  using Context = ContextType;
  using Item = typename OperationQueue<Context>::Item;

  // Runs every item in one transaction, in this order, and commits it. On the writer's thread.
  using Commit = std::function<std::optional<BatchFailure>(std::span<Item> batch)>;

  // `after_batch` runs on the writer's thread, once the callers of a batch have their answers.
  explicit BatchWriter(Commit commit, std::function<void()> after_batch = {})
      : commit_(std::move(commit)), after_batch_(std::move(after_batch)) {
    thread_ = std::thread([this] { work(); });
  }
  ~BatchWriter() { stop(); }
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  void add(Item item, Priority priority = Priority::normal) {
    queue_.add(std::move(item), priority);
  }

  // Commits what still waits, and ends the thread.
  void stop() {
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  static constexpr std::size_t kMostWaiting = 10'000;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::chrono::microseconds kMostPatience{500};

  // While many write at once, most of a batch comes back soon after it was answered: a commit that
  // waits for them a little, much less than a commit takes, is shared by more of them. Whoever
  // writes alone never waits.
  void work() {
    std::size_t wanted = 1;
    std::chrono::nanoseconds patience{};
    while (true) {
      if (wanted > 1) queue_.gather(wanted, patience);
      std::vector<Item> batch = queue_.take(kBatch);
      if (batch.empty()) return;
      wanted = batch.size();
      const auto begun = std::chrono::steady_clock::now();
      commit(batch);
      patience = std::min<std::chrono::nanoseconds>((std::chrono::steady_clock::now() - begun) / 2,
                                                    kMostPatience);
      complete(std::move(batch));
      if (after_batch_) after_batch_();
    }
  }

  void commit(std::span<Item> batch) {
    const auto failure = commit_(batch);
    if (!failure) return;
    if (failure->is_of_one && batch.size() > 1) {
      // Each on its own, so that one does not take the others with it.
      for (Item& item : batch) commit(std::span(&item, 1));
      return;
    }
    for (const Item& item : batch) item->fail(failure->error);
  }

  const Commit commit_;
  const std::function<void()> after_batch_;
  OperationQueue<Context> queue_{kMostWaiting};
  std::thread thread_;
};

}  // namespace treaty::store
