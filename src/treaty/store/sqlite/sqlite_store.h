// The store in one SQLite file: in WAL mode, every answered write on the disk.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "treaty/store/store_options.h"

namespace treaty::store {

// Opening for `run` makes directory (0700) and file (0600) when they are not there. Destroying the
// store waits for what was begun; no call may follow.
std::expected<std::unique_ptr<Store>, Error> open_sqlite_store(const std::string& path,
                                                               StoreOptions options = {});

}  // namespace treaty::store
