// All quota pools of the process: one for each (provider, key, model), shared by all workers, and
// kept by the store from one run of the process to the next; and the queue before the budgets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "treaty/base/clock.h"
#include "treaty/base/mutex.h"
#include "treaty/base/notifier.h"
#include "treaty/dispatch/pool.h"
#include "treaty/store/pools.h"

namespace treaty::dispatch {

// The queue of calls that wait for a budget: what others have set aside may come back. One for each
// set of budgets; whoever comes first asks the store first. Thread-safe.
class BudgetQueue {
 public:
  // A place in the queue of `key`. The waker is notified when the first place is theirs, and when
  // something may have come back.
  std::uint64_t join(const std::string& key, std::shared_ptr<Waker> waker);
  bool is_first(const std::string& key, std::uint64_t place) const;
  void leave(const std::string& key, std::uint64_t place);

  void notify(const std::string& key) const;  // Something has come back.

 private:
  using Queue = std::map<std::uint64_t, std::shared_ptr<Waker>>;

  mutable Mutex mutex_;
  std::uint64_t next_ TREATY_GUARDED_BY(mutex_) = 1;
  std::map<std::string, Queue, std::less<>> queues_ TREATY_GUARDED_BY(mutex_){};
};

// Thread-safe.
class Pools {
 public:
  explicit Pools(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  // The pool of that name's key; made when there is none.
  std::shared_ptr<Pool> find(const PoolName& name);

  // The same, if there is one; it takes that name. Null when no call has asked for it yet.
  std::shared_ptr<Pool> find_known(const PoolName& name);

  // By provider and model: the pools that have a user. What is known of the others is kept for the
  // case that they are asked for again.
  std::vector<PoolView> view() const;

  // What the store kept of a process before this one.
  boost::asio::awaitable<std::expected<void, Error>> load(store::PoolStore& store);

  // Writes what has changed since the last time; nothing then costs nothing.
  boost::asio::awaitable<std::expected<void, Error>> save(store::PoolStore& store);

  Clock& clock() const { return *clock_; }
  Moment now() const { return steady_seconds(clock_->now()); }
  double unix_now() const { return unix_seconds(clock_->wall_now()); }
  BudgetQueue& budget_queue() { return budget_queue_; }

 private:
  std::shared_ptr<Clock> clock_;
  BudgetQueue budget_queue_{};
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Pool>, std::less<>> pools_
      TREATY_GUARDED_BY(mutex_){};  // By their keys.
  std::map<std::string, std::string, std::less<>> kept_
      TREATY_GUARDED_BY(mutex_){};  // States of pools nobody asked for yet.
};

}  // namespace treaty::dispatch
