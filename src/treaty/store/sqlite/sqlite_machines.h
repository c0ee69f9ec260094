// What machines keep, in SQLite: their commits are shared with everything else that is written.
#pragma once

#include <memory>

#include "treaty/store/machines.h"
#include "treaty/store/sqlite/connections.h"

namespace treaty::store::sqlite {

// The connections outlive it.
std::unique_ptr<MachineStore> make_machine_store(Connections& connections,
                                                 std::shared_ptr<const Clock> clock);

}  // namespace treaty::store::sqlite
