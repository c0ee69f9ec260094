// All quota pools of the process: one for each (provider, key, model), shared by all workers, and
// kept by the store from one run of the process to the next; and the line before the budgets.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "treaty/base/clock.h"
#include "treaty/base/mutex.h"
#include "treaty/dispatch/budgets/budget_line.h"
#include "treaty/dispatch/pool.h"
#include "treaty/store/pools.h"

namespace treaty::dispatch {

// Thread-safe.
class Pools {
 public:
  explicit Pools(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  // The pool of that name's key; made when there is none.
  std::shared_ptr<Pool> find(const PoolName& name);

  std::vector<PoolView> view() const;  // By provider and model; those that were asked for only.

  // What the store kept of a process before this one.
  boost::asio::awaitable<std::expected<void, Error>> load(store::PoolStore& store);

  // Writes what has changed since the last time; nothing then costs nothing.
  boost::asio::awaitable<std::expected<void, Error>> save(store::PoolStore& store);

  Clock& clock() const { return *clock_; }
  Moment now() const { return steady_seconds(clock_->now()); }
  double unix_now() const { return unix_seconds(clock_->wall_now()); }
  BudgetLine& budget_line() { return budget_line_; }

 private:
  std::shared_ptr<Clock> clock_;
  BudgetLine budget_line_{};
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Pool>, std::less<>> pools_
      TREATY_GUARDED_BY(mutex_){};  // By their keys.
  std::map<std::string, std::string, std::less<>> kept_
      TREATY_GUARDED_BY(mutex_){};  // States of pools nobody asked for yet.
};

}  // namespace treaty::dispatch
