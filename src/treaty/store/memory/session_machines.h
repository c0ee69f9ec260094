// The machines of a store that keeps its sessions in memory, too: executions follow their sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "treaty/base/clock.h"
#include "treaty/store/work_pool.h"

namespace treaty::store {

class MemoryMachineStore : public WorkEventStore {
 public:
  // Sessions for whose turns a machine runs now.
  virtual std::set<std::int64_t> running_sessions() = 0;

 protected:
  using WorkEventStore::WorkEventStore;
};

// Whether a session of that number was there and is not any more. For any thread.
using IsDeleted = std::function<bool(std::int64_t session)>;

std::unique_ptr<MemoryMachineStore> open_session_machines(std::shared_ptr<const Clock> clock,
                                                          IsDeleted is_deleted);

}  // namespace treaty::store
