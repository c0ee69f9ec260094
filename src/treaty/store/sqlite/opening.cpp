#include "treaty/store/sqlite/opening.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "treaty/base/try.h"
#include "treaty/store/sqlite/budgets.h"
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
  TREATY_TRY_VOID(database.outcome(path));
  if (missing == 0) return {};
  return std::unexpected(error_of({.code = SQLITE_CORRUPT, .message = "a table is missing"}, path));
}

std::expected<Database, Error> open_file(const std::string& path, Access access) {
  auto database = Database::open(path, access);
  if (!database) return std::unexpected(error_of(database.error(), path));
  return *std::move(database);
}

std::expected<Database, Error> open_to_read(const std::string& path) {
  TREATY_TRY(Database database, open_file(path, Access::read));
  TREATY_TRY(const std::int64_t version, check_version(database, path));
  if (version == 0) return unavailable("there is no store yet; `treaty serve` makes one", path);
  if (version < kOldestReadable) {
    return unavailable("the store is of an older version; `treaty serve` brings it up to date",
                       path);
  }
  TREATY_TRY_VOID(check_tables(database, version, path));
  return database;
}

std::expected<Database, Error> open_to_write(const std::string& path, Access access) {
  TREATY_TRY(Database database, open_file(path, access));
  // Before anything is written: it may be somebody else's.
  TREATY_TRY(const std::int64_t version, check_version(database, path));
  // A migration cannot change a table that is missing: that is damage, not a failure to write.
  if (version > 0) TREATY_TRY_VOID(check_tables(database, version, path));
  if (sqlite3_db_readonly(database.handle(), "main") == 1) {
    return std::unexpected(error_of({.code = SQLITE_READONLY, .message = "read-only"}, path));
  }
  if (!set_log_mode(database)) return std::unexpected(error_of(*database.take_failure(), path));
  TREATY_TRY_VOID(migrate(database, path));
  TREATY_TRY_VOID(check_tables(database, static_cast<std::int64_t>(migrations().size()), path));
  return database;
}

}  // namespace

std::expected<SignedOn, Error> sign_on(
    Database& database, const std::string& path, const IsGone& is_gone,
    const std::function<std::expected<void, Error>(std::int64_t owner)>& hold) {
  database.execute("BEGIN IMMEDIATE");
  Statement(database, "INSERT INTO owners DEFAULT VALUES").run();
  const std::int64_t number = database.last_row();
  std::vector<std::int64_t> gone;
  Statement others(database, "SELECT number FROM owners WHERE number < ?", number);
  while (others.next()) {
    const std::int64_t other = others.integer();
    if (is_gone(other)) gone.push_back(other);
  }
  for (const std::int64_t other : gone) {
    Statement(database, "DELETE FROM owners WHERE number = ?", other).run();
  }
  spend_abandoned(database, is_gone);
  if (!database.has_failed()) {
    if (auto ok = hold(number); !ok) {
      database.execute("ROLLBACK");
      return std::unexpected(ok.error());
    }
  }
  database.execute("COMMIT");
  TREATY_TRY_VOID(database.outcome(path));
  return SignedOn{.owner = number, .others_were_gone = !gone.empty()};
}

void sign_off(Database& database, std::int64_t owner) {
  Statement(database, "BEGIN IMMEDIATE").run();
  spend_all_of(database, owner);
  Statement(database, "DELETE FROM owners WHERE number = ?", owner).run();
  Statement(database, "COMMIT").run();
}

std::expected<Opened, Error> open_database(const std::string& path, Purpose purpose) {
  if (std::error_code code; std::filesystem::is_directory(path, code)) {
    return unavailable("this is a directory; name a file in it", path);
  }
  if (purpose == Purpose::run) {
    make_file(path);
  } else if (!exists(path)) {
    return unavailable("there is no store yet; `treaty serve` makes one", path);
  }
  TREATY_TRY(Database database,
             purpose == Purpose::read
                 ? open_to_read(path)
                 : open_to_write(path, purpose == Purpose::run ? Access::create : Access::write));
  Opened opened{.database = std::move(database)};
  if (purpose != Purpose::run) return opened;
  TREATY_TRY(Owners owners, Owners::open(path + "-owners"));
  TREATY_TRY(const SignedOn signed_on,
             sign_on(
                 opened.database, path, [&](std::int64_t owner) { return owners.is_gone(owner); },
                 [&](std::int64_t owner) { return owners.hold(owner); }));
  opened.owners = std::move(owners);
  opened.was_left_open = signed_on.others_were_gone;
  return opened;
}

}  // namespace treaty::store::sqlite
