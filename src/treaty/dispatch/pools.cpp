#include "treaty/dispatch/pools.h"

#include <algorithm>

#include "treaty/base/try.h"

namespace treaty::dispatch {

std::uint64_t BudgetQueue::join(const std::string& key, std::shared_ptr<Waker> waker) {
  const MutexLock lock(mutex_);
  queues_[key].emplace(next_, std::move(waker));
  return next_++;
}

bool BudgetQueue::is_first(const std::string& key, std::uint64_t place) const {
  const MutexLock lock(mutex_);
  const auto queue = queues_.find(key);
  return queue == queues_.end() || queue->second.begin()->first >= place;
}

void BudgetQueue::leave(const std::string& key, std::uint64_t place) {
  const MutexLock lock(mutex_);
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return;
  queue->second.erase(place);
  if (queue->second.empty()) {
    queues_.erase(queue);
  } else {
    queue->second.begin()->second->notify();
  }
}

void BudgetQueue::notify(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto queue = queues_.find(key);
  if (queue != queues_.end()) queue->second.begin()->second->notify();
}

std::shared_ptr<Pool> Pools::find(const PoolName& name) {
  const MutexLock lock(mutex_);
  auto& pool = pools_[name.key];
  if (pool) return pool;
  pool = std::make_shared<Pool>(name);
  if (const auto kept = kept_.find(name.key); kept != kept_.end()) {
    pool->restore(kept->second, now(), unix_now());
    kept_.erase(kept);
  }
  return pool;
}

std::shared_ptr<Pool> Pools::find_known(const PoolName& name) {
  const MutexLock lock(mutex_);
  const auto found = pools_.find(name.key);
  if (found == pools_.end()) return nullptr;
  found->second->rename(name);
  return found->second;
}

std::vector<PoolView> Pools::view() const {
  std::vector<std::shared_ptr<Pool>> pools;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, pool] : pools_) {
      if (pool.use_count() > 1) pools.push_back(pool);
    }
  }
  const Moment at = now();
  std::vector<PoolView> views;
  views.reserve(pools.size());
  for (const auto& pool : pools) views.push_back(pool->view(at));
  std::ranges::sort(views, {}, [](const PoolView& view) {
    return std::pair(view.name.provider, view.name.model);
  });
  return views;
}

boost::asio::awaitable<std::expected<void, Error>> Pools::load(store::PoolStore& store) {
  TREATY_CO_TRY(auto records, co_await store.pools());
  const MutexLock lock(mutex_);
  for (auto& [key, state] : records) {
    if (const auto pool = pools_.find(key); pool != pools_.end()) {
      pool->second->restore(state, now(), unix_now());
    } else {
      kept_[key] = std::move(state);
    }
  }
  co_return std::expected<void, Error>();
}

boost::asio::awaitable<std::expected<void, Error>> Pools::save(store::PoolStore& store) {
  std::vector<store::PoolRecord> records;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, pool] : pools_) {
      if (!pool->has_news()) continue;
      records.push_back({key, pool->save(now(), unix_now())});
    }
  }
  if (records.empty()) co_return std::expected<void, Error>();
  const auto saved = co_await store.save_pools(records);
  if (!saved) {
    const MutexLock lock(mutex_);
    for (const auto& record : records) pools_.at(record.key)->keep_news();
  }
  co_return saved;
}

}  // namespace treaty::dispatch
