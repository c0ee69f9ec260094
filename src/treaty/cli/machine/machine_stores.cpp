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

std::expected<OpenedMachines, Error> open_own(const std::string& address, store::Purpose purpose) {
  TREATY_TRY(auto opened, store::open_machine_store(address, {.purpose = purpose}));
  return OpenedMachines(std::move(opened));
}

std::expected<OpenedMachines, Error> open_any(const Arguments& arguments, store::Purpose purpose,
                                              const machines::Persistence* persistence) {
  using machines::PersistenceKind;
  if (arguments.has("--store")) return open_own("directory:" + arguments.get("--store"), purpose);
  const auto kind = persistence == nullptr ? PersistenceKind::configured : persistence->kind;
  const bool is_kept = persistence == nullptr || persistence->enabled;
  if (kind == PersistenceKind::memory || !is_kept) return open_own("memory:", purpose);
  const std::string path = persistence == nullptr ? "" : persistence->db_path;
  if (kind == PersistenceKind::local) {
    return open_own("directory:" + (path.empty() ? kLocalDirectory : path), purpose);
  }
  if (kind == PersistenceKind::sqlite) {
    const auto file = std::filesystem::absolute(path.empty() ? kLocalDatabase : path);
    TREATY_TRY(auto opened, store::open_store("sqlite://" + file.string(), {.purpose = purpose}));
    return OpenedMachines(std::move(opened));
  }
  TREATY_TRY(auto opened, open_configured_store(arguments, purpose));
  return OpenedMachines(std::move(opened));
}

}  // namespace

std::vector<Option> machine_store_options() {
  return joined(
      {{{"--store", "DIR", "Keep executions in this directory, instead of the configured store"}},
       configuration_options()});
}

std::vector<Option> looking_options() {
  return joined({{format_option()}, machine_store_options()});
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

Result<OpenedMachines> open_machines(const Arguments& arguments, store::Purpose purpose,
                                     const machines::Persistence* persistence) {
  return map_error(open_any(arguments, purpose, persistence), failure_of);
}

Result<OpenedMachines> open_to_look(const Arguments& arguments, store::Purpose purpose) {
  std::error_code ignored;
  const std::string directory = arguments.get("--store");
  if (purpose != store::Purpose::run && arguments.has("--store") &&
      !std::filesystem::is_directory(directory, ignored)) {
    return failed_with(kUnavailable,
                       fmt::format("{}: there is no such directory; `treaty machine run FILE "
                                   "--store {}` makes one",
                                   harmless(directory), harmless(shell_word(directory))));
  }
  return open_machines(arguments, purpose, nullptr);
}

Result<OpenedMachines> open_or_empty(const Arguments& arguments) {
  std::string place = arguments.get("--store");
  if (!arguments.has("--store")) {
    TREATY_TRY(const std::string address, map_error(configured_store(arguments), failure_of));
    place = path_of_store(address);
  }
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(place, ignored) || ignored;
  if (!is_there) return map_error(open_own("memory:", store::Purpose::read), failure_of);
  return open_to_look(arguments, store::Purpose::read);
}

CommandFailure machine_failure(const Error& error) {
  const auto with = [&](int code) { return CommandFailure{code, text_of(error)}; };
  if (error.code == ErrorCode::conflict) return with(kTryLater);
  if (error.code == ErrorCode::not_a_document) return with(kViolated);
  if (error.code == ErrorCode::wrong_usage) return with(kWrongUsage);
  return failure_of(error);
}

Result<std::int64_t> read_count(const Arguments& arguments, const std::string& option,
                                std::int64_t least, std::int64_t otherwise) {
  if (!arguments.has(option)) return otherwise;
  const auto number = parse_number<std::int64_t>(arguments.get(option));
  if (number && *number >= least) return *number;
  return misused(fmt::format("{} is a number of {} or more", option, least));
}

}  // namespace treaty::cli
