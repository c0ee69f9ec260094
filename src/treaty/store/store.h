// A store: one place that keeps the journal of turns, budgets, quota pools and machines. Most code
// takes only the interface that it uses; see journal.h for threads and errors.
//
//   auto opened = open_store(address, {.purpose = Purpose::run});
//   if (!opened) return std::unexpected(opened.error());
//   turns::Engine engine(**opened, system_clock(), renderers);    // Uses the journal.
//   dispatch::Dispatcher::Services services{.budgets = opened->get()};
//   MachineStore& machines = (*opened)->machines();
#pragma once

#include "treaty/store/budgets.h"
#include "treaty/store/journal.h"
#include "treaty/store/machines.h"
#include "treaty/store/pools.h"
#include "treaty/store/task.h"

namespace treaty::store {

// What a store is opened for. Several processes may use one store at a time.
enum class Purpose {
  read,      // Nothing is created or changed.
  maintain,  // Delete and prune what is there.
  run,       // Run turns. The store is created if it does not exist.
};

class Store : public TurnJournal, public BudgetStore, public PoolStore {
 public:
  virtual MachineStore& machines() = 0;  // Lives as long as the store.

  // Whether the store can be written to now.
  virtual Task<void> probe() = 0;
};

}  // namespace treaty::store
