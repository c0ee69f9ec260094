// What machines keep, as long as the process lives: for runs that nobody will resume.
#pragma once

#include <functional>
#include <memory>

#include "treaty/store/machines.h"

namespace treaty::store {

// `now` absent: the system's clock. Of checkpoints only the latest one is kept.
std::unique_ptr<MachineStore> open_memory_store(std::function<Milliseconds()> now = {});

}  // namespace treaty::store
