#include "treaty/store/sqlite/opening.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "treaty/store/sqlite/budgets/reservations.h"
#include "treaty/store/sqlite/migrations.h"

namespace treaty::store::sqlite {
namespace {

constexpr mode_t kStoreFileMode = 0600;
constexpr mode_t kOurDirectory = 0700;

std::unexpected<Error> unavailable(std::string message, const std::string& path) {
  return std::unexpected(
      Error{.code = ErrorCode::unavailable, .message = std::move(message), .where = path});
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

// The directories that are not there, for nobody but us.
void make_directories(const std::filesystem::path& directory) {
  if (directory.empty() || exists(directory.string())) return;
  make_directories(directory.parent_path());
  ::mkdir(directory.c_str(), kOurDirectory);
}

// What cannot be made here is told by the one who opens it.
void make_file(const std::string& path) {
  make_directories(std::filesystem::path(path).parent_path());
  // SQLite makes its other files with the permissions of this one.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kStoreFileMode);
  if (file >= 0) ::close(file);
}

// Two processes that make the same store at the same time wait for each other here; SQLite's own
// patience does not cover this step.
bool set_log_mode(Database& database) {
  constexpr int kAttempts = 500;
  for (int i = 0; i < kAttempts; ++i) {
    Statement statement(database, "PRAGMA journal_mode = WAL");
    const bool is_set = statement.next() && statement.view() == "wal";
    if (is_set) return true;
    const auto failure = database.take_failure();
    if (failure && (failure->code & 0xff) != SQLITE_BUSY) {
      database.fail(failure->code);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  database.fail(SQLITE_BUSY);
  return false;
}

// The tables of that version.
std::expected<void, Error> check_tables(Database& database, std::int64_t version,
                                        const std::string& path) {
  std::int64_t missing =
      8 - database.value_of(
              "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('sessions', "
              "'contexts', 'turns', 'names', 'requests', 'answers', 'owners', 'probes')");
  if (version >= kVersionWithBudgets) {
    missing += 4 - database.value_of(
                       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                       "('spending', 'reservations', 'shares', 'pools')");
  }
  if (version >= kVersionWithMachines) {
    missing += 6 - database.value_of(
                       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                       "('machine_checkpoints', 'machine_latest', 'machine_journal', "
                       "'execution_leases', 'signals', 'work_pool')");
  }
  if (const auto failure = database.take_failure()) {
    return std::unexpected(error_of(*failure, path));
  }
  if (missing == 0) return {};
  return std::unexpected(error_of({.code = SQLITE_CORRUPT, .message = "a table is missing"}, path));
}

std::expected<Database, Error> open_to_read(const std::string& path) {
  auto database = Database::open(path, Access::read);
  if (!database) return std::unexpected(error_of(database.error(), path));
  const auto version = check_version(*database, path);
  if (!version) return std::unexpected(version.error());
  if (*version == 0) return unavailable("there is no store yet; `treaty serve` makes one", path);
  if (*version < kOldestReadable) {
    return unavailable("the store is of an older version; `treaty serve` brings it up to date",
                       path);
  }
  if (auto ok = check_tables(*database, *version, path); !ok) return std::unexpected(ok.error());
  return std::move(*database);
}

std::expected<Database, Error> open_to_write(const std::string& path, Access access) {
  auto database = Database::open(path, access);
  if (!database) return std::unexpected(error_of(database.error(), path));
  // Before anything is written: it may be somebody else's.
  const auto version = check_version(*database, path);
  if (!version) return std::unexpected(version.error());
  // A migration cannot change a table that is missing: that is damage, not a failure to write.
  if (*version > 0) {
    if (auto ok = check_tables(*database, *version, path); !ok) return std::unexpected(ok.error());
  }
  if (sqlite3_db_readonly(database->handle(), "main") == 1) {
    return std::unexpected(error_of({.code = SQLITE_READONLY, .message = "read-only"}, path));
  }
  if (!set_log_mode(*database)) {
    return std::unexpected(error_of(*database->take_failure(), path));
  }
  if (auto ok = migrate(*database, path); !ok) return std::unexpected(ok.error());
  const auto newest = static_cast<std::int64_t>(migrations().size());
  if (auto ok = check_tables(*database, newest, path); !ok) return std::unexpected(ok.error());
  return std::move(*database);
}

// Gives this process a number that no other ever had, and forgets processes that are gone; what
// they had reserved is spent.
std::expected<void, Error> sign_on(Opened& opened, const std::string& path) {
  Database& database = opened.database;
  Owners& owners = *opened.owners;
  database.execute("BEGIN IMMEDIATE");
  Statement(database, "INSERT INTO owners DEFAULT VALUES").run();
  const std::int64_t number = database.last_row();
  std::vector<std::int64_t> gone;
  Statement others(database, "SELECT number FROM owners WHERE number < ?", number);
  while (others.next()) {
    const std::int64_t other = others.integer();
    if (owners.is_gone(other)) gone.push_back(other);
  }
  for (const std::int64_t other : gone) {
    Statement(database, "DELETE FROM owners WHERE number = ?", other).run();
  }
  spend_abandoned(database, owners);
  // Held before anybody can see the number: it is never taken for one that is gone.
  if (!database.has_failed()) {
    if (auto ok = owners.hold(number); !ok) {
      database.execute("ROLLBACK");
      return ok;
    }
  }
  database.execute("COMMIT");
  opened.was_left_open = !gone.empty();
  if (const auto failure = database.take_failure()) {
    return std::unexpected(error_of(*failure, path));
  }
  return {};
}

}  // namespace

std::expected<Opened, Error> open_database(const std::string& path, Purpose purpose) {
  if (std::error_code code; std::filesystem::is_directory(path, code)) {
    return unavailable("this is a directory; name a file in it", path);
  }
  if (purpose == Purpose::run) {
    make_file(path);
  } else if (!exists(path)) {
    return unavailable("there is no store yet; `treaty serve` makes one", path);
  }
  auto database =
      purpose == Purpose::read
          ? open_to_read(path)
          : open_to_write(path, purpose == Purpose::run ? Access::create : Access::write);
  if (!database) return std::unexpected(database.error());
  Opened opened{.database = std::move(*database)};
  if (purpose != Purpose::run) return opened;
  auto owners = Owners::open(path + "-owners");
  if (!owners) return std::unexpected(owners.error());
  opened.owners = std::move(*owners);
  if (auto ok = sign_on(opened, path); !ok) return std::unexpected(ok.error());
  return opened;
}

}  // namespace treaty::store::sqlite
