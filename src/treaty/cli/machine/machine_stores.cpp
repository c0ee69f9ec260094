#include "treaty/cli/machine/machine_stores.h"

#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/try.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/open_store.h"

namespace treaty::cli {
namespace {

// Where the original keeps them when a file says no more than `backend: local`, or `sqlite`.
constexpr const char* kLocalDirectory = ".checkpoints";
constexpr const char* kLocalDatabase = "flatmachines.sqlite";

std::string address_of_file(const std::string& path) {
  return "sqlite://" + std::filesystem::absolute(path).string();
}

std::expected<OpenedMachines, Error> open_machines(const std::string& address,
                                                   store::Purpose purpose) {
  TREATY_TRY(auto opened, store::open_machine_store(address, {.purpose = purpose}));
  return OpenedMachines(std::move(opened));
}

std::expected<OpenedMachines, Error> open_directory(const std::string& path,
                                                    store::Purpose purpose) {
  return open_machines("directory:" + path, purpose);
}

std::expected<OpenedMachines, Error> open_database(const MachineServices& services,
                                                   const std::string& address,
                                                   store::Purpose purpose) {
  TREATY_TRY(auto opened, services.stores.open(address, purpose));
  return OpenedMachines(std::move(opened));
}

std::expected<OpenedMachines, Error> open_any(const MachineServices& services,
                                              const Arguments& arguments, store::Purpose purpose,
                                              const machines::Persistence* persistence) {
  using machines::PersistenceKind;
  if (arguments.has("--store")) return open_directory(arguments.get("--store"), purpose);
  const auto kind = persistence == nullptr ? PersistenceKind::configured : persistence->kind;
  const bool is_kept = persistence == nullptr || persistence->enabled;
  if (kind == PersistenceKind::memory || !is_kept) return open_machines("memory:", purpose);
  const std::string path = persistence == nullptr ? "" : persistence->db_path;
  if (kind == PersistenceKind::local) {
    return open_directory(path.empty() ? kLocalDirectory : path, purpose);
  }
  if (kind == PersistenceKind::sqlite) {
    return open_database(services, address_of_file(path.empty() ? kLocalDatabase : path), purpose);
  }
  TREATY_TRY(auto address, services.stores.address(arguments));
  return open_database(services, address, purpose);
}

}  // namespace

std::vector<Option> machine_store_options() {
  return joined(
      {{{"--store", "DIR", "Keep executions in this directory, instead of the configured store"}},
       configuration_options()});
}

std::string options_to_find(const Arguments& arguments) {
  std::string options;
  for (const char* name : {"--store", "--config", "--state-dir"}) {
    if (arguments.has(name)) {
      options += ' ' + std::string(name) + ' ' + shell_word(arguments.get(name));
    }
  }
  return options;
}

std::expected<OpenedMachines, int> open_machines(std::string_view command,
                                                 const MachineServices& services,
                                                 const Arguments& arguments, store::Purpose purpose,
                                                 const machines::Persistence* persistence) {
  auto opened = open_any(services, arguments, purpose, persistence);
  if (opened) return std::move(*opened);
  return std::unexpected(tell_error(command, opened.error()));
}

std::expected<OpenedMachines, int> open_to_look(std::string_view command,
                                                const MachineServices& services,
                                                const Arguments& arguments,
                                                store::Purpose purpose) {
  std::error_code ignored;
  const std::string directory = arguments.get("--store");
  if (purpose != store::Purpose::run && arguments.has("--store") &&
      !std::filesystem::is_directory(directory, ignored)) {
    print_error(
        "treaty {}: {}: there is no such directory; `treaty machine run FILE --store {}` makes "
        "one\n",
        command, harmless(directory), harmless(shell_word(directory)));
    return std::unexpected(kUnavailable);
  }
  return open_machines(command, services, arguments, purpose, nullptr);
}

std::vector<Option> looking_options() {
  return joined({{format_option()}, machine_store_options()});
}

std::expected<std::int64_t, std::string> read_count(const Arguments& arguments,
                                                    const std::string& option, std::int64_t least,
                                                    std::int64_t otherwise) {
  if (!arguments.has(option)) return otherwise;
  const auto number = read_number<std::int64_t>(arguments.get(option));
  if (number && *number >= least) return *number;
  return std::unexpected(fmt::format("{} is a number of {} or more", option, least));
}

}  // namespace treaty::cli
