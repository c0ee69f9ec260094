// The line of calls that wait for a budget: what others have set aside may come back. One for each
// set of budgets; whoever comes first asks the store first. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "treaty/base/mutex.h"
#include "treaty/base/notifier.h"

namespace treaty::dispatch {

class BudgetLine {
 public:
  // A place in the line of `key`. The waker is notified when the first place is theirs, and when
  // something may have come back.
  std::uint64_t join(const std::string& key, std::shared_ptr<Waker> waker);
  bool is_first(const std::string& key, std::uint64_t place) const;
  void leave(const std::string& key, std::uint64_t place);

  void notify(const std::string& key) const;  // Something has come back.

 private:
  using Line = std::map<std::uint64_t, std::shared_ptr<Waker>>;

  mutable Mutex mutex_;
  std::uint64_t next_ TREATY_GUARDED_BY(mutex_) = 1;
  std::map<std::string, Line, std::less<>> lines_ TREATY_GUARDED_BY(mutex_){};
};

}  // namespace treaty::dispatch
