#include "treaty/cli/machine/machine_stores.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "treaty/base/try.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/open_store.h"

namespace treaty::cli {
namespace {

// Where the original keeps them when a file says no more than `backend: local`, or `sqlite`.
constexpr const char* kLocalDirectory = ".checkpoints";
constexpr const char* kLocalDatabase = "flatmachines.sqlite";

// Whether the path is that of an SQLite database: by the content of the file, or by the name if
// there is no file yet. SQLite would write a new database into any other empty file.
bool is_database(const std::string& path) {
  constexpr std::string_view kBegin = "SQLite format 3";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return path.ends_with(".sqlite") || path.ends_with(".db");
  }
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::string begin(kBegin.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin;
}

enum class StoreKind { memory, directory, database, configured };

// Where the executions of a command are kept.
struct StoreLocation {
  StoreKind kind = StoreKind::configured;
  std::string path{};  // The directory or the database file; empty for the other kinds.
};

StoreLocation location_of(const Arguments& arguments, const machines::Persistence* persistence) {
  using machines::PersistenceKind;
  if (arguments.has("--store")) {
    const std::string path = arguments.get("--store");
    return {is_database(path) ? StoreKind::database : StoreKind::directory, path};
  }
  if (persistence == nullptr) return {};
  if (!persistence->enabled) return {StoreKind::memory};
  const std::string& path = persistence->db_path;
  switch (persistence->kind) {
    case PersistenceKind::memory: return {StoreKind::memory};
    case PersistenceKind::local:
      return {StoreKind::directory, path.empty() ? kLocalDirectory : path};
    case PersistenceKind::sqlite:
      return {StoreKind::database, path.empty() ? kLocalDatabase : path};
    case PersistenceKind::configured: break;
  }
  return {};
}

std::optional<std::string> options_of(const StoreLocation& location, const Arguments& arguments) {
  if (location.kind == StoreKind::memory) return std::nullopt;
  std::string options = options_to_find(arguments);
  if (location.path.empty() || arguments.has("--store")) return options;
  return fmt::format(" --store {}{}", shell_word(harmless(location.path)), options);
}

std::expected<OpenedMachines, Error> open_location(const StoreLocation& location,
                                                   const Arguments& arguments,
                                                   store::Purpose purpose) {
  auto options = options_of(location, arguments);
  switch (location.kind) {
    case StoreKind::memory:
    case StoreKind::directory: {
      const bool is_kept = location.kind == StoreKind::directory;
      TREATY_TRY(auto opened,
                 store::open_machine_store(is_kept ? "directory:" + location.path : "memory:",
                                           {.purpose = purpose}));
      return OpenedMachines(std::move(opened), std::move(options));
    }
    case StoreKind::database: {
      const auto file = std::filesystem::absolute(location.path);
      TREATY_TRY(auto opened, store::open_store("sqlite://" + file.string(), {.purpose = purpose}));
      return OpenedMachines(std::move(opened), std::move(options));
    }
    case StoreKind::configured: break;
  }
  TREATY_TRY(auto opened, open_configured_store(arguments, purpose));
  return OpenedMachines(std::move(opened), std::move(options));
}

}  // namespace

std::vector<Option> machine_store_options() {
  return joined(
      {{{"--store", "PATH",
         "Keep executions in this directory or SQLite database, instead of the configured store"}},
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
  return map_error(open_location(location_of(arguments, persistence), arguments, purpose),
                   failure_of);
}

Result<OpenedMachines> open_to_look(const Arguments& arguments, store::Purpose purpose) {
  std::error_code ignored;
  const std::string path = arguments.get("--store");
  if (purpose != store::Purpose::run && arguments.has("--store") &&
      !std::filesystem::exists(path, ignored)) {
    return failed_with(kUnavailable,
                       fmt::format("{}: there is no such store; `treaty machine run FILE "
                                   "--store {}` makes one",
                                   harmless(path), harmless(shell_word(path))));
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
  if (!is_there) {
    return map_error(open_location({StoreKind::memory}, arguments, store::Purpose::read),
                     failure_of);
  }
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
