// A store in memory, written apart from every other one: maps instead of SQL, changed by the same
// pure rules (store/planning.h, store/grants.h). It is the fast store of engine tests, and what the
// other stores are compared with. Calls complete at once, on the thread of the caller.
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
  std::shared_ptr<const Clock> clock = system_clock();
  std::shared_ptr<MemoryDisk> disk{};  // Absent: one of its own.
};

// Each store that is opened is an owner of turns of its own. What it leaves unfinished is abandoned
// when it is destroyed.
std::unique_ptr<Store> open_memory_store(MemoryOptions options = {});

}  // namespace treaty::store
