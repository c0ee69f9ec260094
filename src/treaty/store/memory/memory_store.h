// Stores in memory, for tests and for runs that nobody will resume: nothing outlives the process. A
// whole store is a SQLite database without a file; machines alone are kept in maps. Calls do their
// work on the thread of the caller.
#pragma once

#include <functional>
#include <memory>

#include "treaty/store/store_options.h"

namespace treaty::store {

class MemoryDisk;

// What several stores in memory share, as processes share a file. It keeps the rows while no store
// is open.
std::shared_ptr<MemoryDisk> make_memory_disk();

struct MemoryOptions {
  std::function<Milliseconds()> now{};  // Absent: the system's clock.
  std::shared_ptr<MemoryDisk> disk{};   // Absent: one of its own.
};

// Each store that is opened is an owner of turns of its own. What it leaves unfinished is abandoned
// when it is destroyed.
std::unique_ptr<Store> open_memory_store(MemoryOptions options = {});

// What machines keep, without a journal of turns. Of checkpoints only the latest one is kept.
std::unique_ptr<MachineStore> open_memory_machines(std::function<Milliseconds()> now = {});

}  // namespace treaty::store
