// What machines keep, in memory: for runs that nobody will resume, and for tests. Nothing outlives
// the process. Calls do their work on the thread of the caller.
#pragma once

#include <memory>

#include "treaty/base/clock.h"
#include "treaty/store/machines.h"

namespace treaty::store {

// Of checkpoints only the latest one is kept.
std::unique_ptr<MachineStore> open_memory_machines(
    std::shared_ptr<const Clock> clock = system_clock());

}  // namespace treaty::store
