// What machines keep, in a directory: the layout that FlatMachines has on a disk, with journals,
// leases, signals and work beside it. For the command line: calls block until they are done.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "treaty/store/machines.h"
#include "treaty/store/store_options.h"

namespace treaty::store {

// Opening for `run` makes the directory (0700) when it is not there. Several processes may use it
// at a time.
std::expected<std::unique_ptr<MachineStore>, Error> open_directory_store(
    const std::string& path, const StoreOptions& options = {});

}  // namespace treaty::store
