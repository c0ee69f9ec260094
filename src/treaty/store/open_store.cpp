#include "treaty/store/open_store.h"

#include <string>

#include "treaty/store/directory/directory_store.h"
#include "treaty/store/memory/memory_machines.h"
#include "treaty/store/sqlite/sqlite_store.h"

namespace treaty::store {
namespace {

constexpr std::string_view kSqlite = "sqlite://";
constexpr std::string_view kDirectory = "directory:";
constexpr std::string_view kMemory = "memory:";

// The path behind the scheme; nothing for another scheme, or without a path.
std::optional<std::string> path_of(std::string_view address, std::string_view scheme) {
  if (!address.starts_with(scheme) || address.size() == scheme.size()) return std::nullopt;
  return std::string(address.substr(scheme.size()));
}

Error unknown_address(std::string_view address, std::string message) {
  return {
      .code = ErrorCode::wrong_usage, .message = std::move(message), .where = std::string(address)};
}

}  // namespace

std::expected<std::unique_ptr<Store>, Error> open_store(std::string_view address,
                                                        StoreOptions options) {
  if (const auto path = path_of(address, kSqlite)) {
    return open_sqlite_store(*path, std::move(options));
  }
  return std::unexpected(unknown_address(
      address, "the address of a store looks like sqlite:///var/lib/treaty/treaty.db"));
}

std::expected<std::unique_ptr<MachineStore>, Error> open_machine_store(std::string_view address,
                                                                       StoreOptions options) {
  if (const auto path = path_of(address, kDirectory)) return open_directory_store(*path, options);
  if (address == kMemory) return open_memory_machines(std::move(options.clock));
  return std::unexpected(
      unknown_address(address, "executions are kept at directory:PATH or in memory:"));
}

}  // namespace treaty::store
