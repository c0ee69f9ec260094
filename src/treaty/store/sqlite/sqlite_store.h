// The store in one SQLite file: in WAL mode, every answered write on the disk.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/store/store.h"

namespace treaty::store {

struct SqliteOptions {
  Purpose purpose = Purpose::run;
  std::function<Milliseconds()> now{};  // Absent: the system's clock. Called on a thread of ours.

  // Told what an operator should know and no caller asked for: damage that a check in the
  // background has found. Called on a thread of ours; from then on every write is refused.
  std::function<void(const Error&)> on_damage{};
};

// Opening for `run` makes directory (0700) and file (0600) when they are not there. Destroying the
// store waits for what was begun; no call may follow.
std::expected<std::unique_ptr<Store>, Error> open_sqlite_store(const std::string& path,
                                                               SqliteOptions options = {});

// The path in "sqlite:///var/lib/treaty/treaty.db".
std::expected<std::string, Error> path_of_sqlite_address(std::string_view address);

// The store at such an address.
std::expected<std::unique_ptr<Store>, Error> open_sqlite_address(std::string_view address,
                                                                 SqliteOptions options = {});

}  // namespace treaty::store
