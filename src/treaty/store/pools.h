// The states of quota pools, which outlive a process. See journal.h for threads and errors.
#pragma once

#include <string>
#include <vector>

#include "treaty/store/task.h"

namespace treaty::store {

// A quota pool as dispatch wrote it.
struct PoolRecord {
  std::string key{};
  std::string state{};
  bool operator==(const PoolRecord&) const = default;
};

class PoolStore {
 public:
  virtual ~PoolStore() = default;

  // Instead of those with the same keys. What is not saved for 60 days is forgotten.
  virtual Task<void> save_pools(std::vector<PoolRecord> pools) = 0;
  virtual Task<std::vector<PoolRecord>> pools() = 0;
};

}  // namespace treaty::store
