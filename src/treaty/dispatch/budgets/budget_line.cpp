#include "treaty/dispatch/budgets/budget_line.h"

namespace treaty::dispatch {

std::uint64_t BudgetLine::join(const std::string& key, std::shared_ptr<Waker> waker) {
  const MutexLock lock(mutex_);
  lines_[key].emplace(next_, std::move(waker));
  return next_++;
}

bool BudgetLine::is_first(const std::string& key, std::uint64_t place) const {
  const MutexLock lock(mutex_);
  const auto line = lines_.find(key);
  return line == lines_.end() || line->second.begin()->first >= place;
}

void BudgetLine::leave(const std::string& key, std::uint64_t place) {
  const MutexLock lock(mutex_);
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  line->second.erase(place);
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    line->second.begin()->second->notify();
  }
}

void BudgetLine::notify(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto line = lines_.find(key);
  if (line != lines_.end()) line->second.begin()->second->notify();
}

}  // namespace treaty::dispatch
