#include "treaty/store/sqlite/opening.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "treaty/base/process/file_descriptor.h"
#include "treaty/base/try.h"
#include "treaty/store/sqlite/budgets.h"

namespace treaty::store::sqlite {
namespace {

// Rows of turns, requests and answers are only ever appended, so that a transaction of many turns
// shares its pages. What finds them again is in `names`, where all entries of a session are
// together:
//   name = number of a turn                   target = its id
//   name = - number that a turn had once      target = its id
//   name = 2^61 + hash of a TurnId            target = its id
//   name = 2^62 + hash of a request's key     target = the request's id
// A request or an answer has the id  turn * 256 + round.
// Ids of sessions and turns are never given out again (AUTOINCREMENT): a late settlement cannot
// meet another turn.
constexpr const char* kJournal = R"sql(
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  conversation TEXT NOT NULL,
  opening_turn TEXT NOT NULL,
  initial_key BLOB,                -- Of a request without ids.
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,     -- Of the last decision; see also the turn `last`.
  turns INTEGER NOT NULL,          -- How many.
  newest INTEGER NOT NULL,         -- The newest turn that is not dead, or 0.
  last INTEGER NOT NULL,           -- The turn with the highest number, or 0.
  context_at INTEGER NOT NULL      -- The number in `contexts` that counts, or -1.
);
CREATE UNIQUE INDEX rooms ON sessions (tenant, session_id);
CREATE INDEX sessions_of_tenants ON sessions (tenant);
CREATE UNIQUE INDEX initial_keys ON sessions (tenant, initial_key) WHERE initial_key IS NOT NULL;

CREATE TABLE contexts (
  session INTEGER NOT NULL,
  number INTEGER NOT NULL,         -- Of the turn whose request latched it; 0: before any.
  solution_context TEXT NOT NULL,
  PRIMARY KEY (session, number)
) WITHOUT ROWID;

CREATE TABLE turns (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  number INTEGER NOT NULL,
  state INTEGER NOT NULL,          -- accepted 0, awaiting_tools 1, completed 2, failed 3,
                                   -- cancelled 4, expired 5
  owner INTEGER NOT NULL,          -- The process that has accepted it.
  round INTEGER NOT NULL,
  previous INTEGER NOT NULL,       -- The newest turn that was not dead when this one began, or 0.
  tool_deadline INTEGER NOT NULL,
  retryable INTEGER NOT NULL,
  has_streamed INTEGER NOT NULL,
  events INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  error_code TEXT NOT NULL,
  pending TEXT NOT NULL
);
CREATE INDEX open_turns ON turns (state, tool_deadline) WHERE state < 2;

CREATE TABLE names (
  session INTEGER NOT NULL,
  name INTEGER NOT NULL,
  target INTEGER NOT NULL,
  PRIMARY KEY (session, name, target)
) WITHOUT ROWID;

CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  "key" BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  dialect INTEGER NOT NULL,        -- pascal 0, camel 1
  streaming INTEGER NOT NULL,
  events TEXT NOT NULL,
  body TEXT NOT NULL
);

CREATE TABLE answers (
  id INTEGER PRIMARY KEY,
  dialect INTEGER NOT NULL,
  first_event INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  error_code TEXT NOT NULL,
  events TEXT NOT NULL,
  body TEXT NOT NULL,
  transcript TEXT NOT NULL,
  deltas TEXT NOT NULL
);

-- Processes that run turns and have not ended in good order.
CREATE TABLE owners (number INTEGER PRIMARY KEY AUTOINCREMENT);

-- Written to find out whether it can be.
CREATE TABLE probes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL);
INSERT INTO probes VALUES (1, 0);
)sql";

// A reservation is added to the sums of each of its scopes; its shares say how much, until they are
// taken off again. Ids are never given out again here either.
constexpr const char* kBudgets = R"sql(
CREATE TABLE spending (
  day INTEGER NOT NULL,            -- Since 1970, UTC.
  scope TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  picodollars INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_picodollars INTEGER NOT NULL,
  calls INTEGER NOT NULL,          -- Settled.
  PRIMARY KEY (day, scope)
) WITHOUT ROWID;

CREATE TABLE reservations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  owner INTEGER NOT NULL,          -- The process that has made it.
  day INTEGER NOT NULL
);

CREATE TABLE shares (
  reservation INTEGER NOT NULL,
  scope TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  picodollars INTEGER NOT NULL,
  PRIMARY KEY (reservation, scope)
) WITHOUT ROWID;

CREATE TABLE pools (
  "key" TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// machine_checkpoints, machine_latest, execution_leases, signals and work_pool have the names,
// columns and meanings that FlatMachines gives them; what is ours is at the end of a row and may be
// left out. Signals and work are in the order of their rowids.
constexpr const char* kMachines = R"sql(
CREATE TABLE machine_checkpoints (
  checkpoint_key TEXT PRIMARY KEY, -- execution/step_000001_state_enter.json
  execution_id TEXT NOT NULL,
  machine_name TEXT,
  event TEXT,
  current_state TEXT,
  waiting_channel TEXT,
  snapshot_json BLOB NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX idx_mc_waiting_channel ON machine_checkpoints (waiting_channel)
  WHERE waiting_channel IS NOT NULL;

CREATE TABLE machine_latest (
  execution_id TEXT PRIMARY KEY,
  latest_key TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE machine_journal (
  execution_id TEXT NOT NULL,
  number INTEGER NOT NULL,         -- From 1.
  line TEXT NOT NULL,              -- JSON.
  PRIMARY KEY (execution_id, number)
) WITHOUT ROWID;

CREATE TABLE execution_leases (
  execution_id TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL,          -- Empty: released.
  phase TEXT NOT NULL,
  lease_until INTEGER NOT NULL,    -- Seconds.
  fencing_token INTEGER NOT NULL DEFAULT 1,
  acquired_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE signals (
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  data_json TEXT NOT NULL,
  created_at TEXT NOT NULL,
  addressee TEXT                   -- The execution it is for; NULL: whoever asks first.
);
CREATE INDEX signals_of_channels ON signals (channel, addressee);
CREATE INDEX signals_of_executions ON signals (addressee) WHERE addressee IS NOT NULL;

CREATE TABLE work_pool (
  item_id TEXT PRIMARY KEY,
  pool_name TEXT NOT NULL,
  data TEXT NOT NULL,              -- JSON.
  status TEXT NOT NULL DEFAULT 'pending',  -- claimed, completed, poisoned
  claimed_by TEXT,
  claimed_at TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  max_retries INTEGER NOT NULL DEFAULT 3,
  created_at TEXT NOT NULL,
  error TEXT,
  result TEXT,                     -- JSON.
  heartbeat INTEGER NOT NULL DEFAULT 0  -- Milliseconds: the last sign of who has it.
);
CREATE INDEX work_of_pools ON work_pool (pool_name, status);
)sql";

// A round is kept as a value beside the bytes that were made of it, with the name of their format.
// Rows from before that have neither.
constexpr const char* kResults = R"sql(
ALTER TABLE requests ADD COLUMN format TEXT NOT NULL DEFAULT '';
ALTER TABLE answers ADD COLUMN format TEXT NOT NULL DEFAULT '';
ALTER TABLE answers ADD COLUMN result TEXT NOT NULL DEFAULT '';
)sql";

// Executions that run for turns follow their session: they are resumed and deleted with it. Rows
// from before that, and those of the command line, have no session.
constexpr const char* kExecutionsOfSessions = R"sql(
ALTER TABLE machine_latest ADD COLUMN session INTEGER;  -- sessions.id
ALTER TABLE machine_latest ADD COLUMN may_run INTEGER NOT NULL DEFAULT 0;  -- Not ended, not waiting.
CREATE INDEX executions_of_sessions ON machine_latest (session, execution_id)
  WHERE session IS NOT NULL;
CREATE INDEX executions_to_resume ON machine_latest (execution_id, session)
  WHERE session IS NOT NULL AND may_run = 1;
)sql";

// Sessions that no query finds, though they have rows: see deleting.h.
constexpr const char* kHiddenSessions = R"sql(
CREATE TABLE hidden_sessions (
  session INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL           -- The process that copies to it; 0: it is being deleted.
);
)sql";

constexpr std::array kMigrations = {
    kJournal, kBudgets, kMachines, kResults, kExecutionsOfSessions, kHiddenSessions};

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

std::expected<std::int64_t, Error> check_version(Database& database, const std::string& path) {
  const std::int64_t application = database.value_of("PRAGMA application_id");
  const std::int64_t version = database.value_of("PRAGMA user_version");
  const std::int64_t tables = database.value_of("SELECT count(*) FROM sqlite_schema");
  TREATY_TRY_VOID(database.outcome(path));
  if (application == 0 && version == 0 && tables == 0) return 0;
  if (application != kApplication) {
    return fail(ErrorCode::corrupt, "this is the database of another program; name another file",
                path);
  }
  const auto known = static_cast<std::int64_t>(kMigrations.size());
  if (version > known) {
    return fail(ErrorCode::too_new,
                fmt::format("the store has version {}, and this program knows versions up "
                            "to {}; use the newer program, or a copy from before the "
                            "upgrade",
                            version, known),
                path);
  }
  return version;
}

std::expected<void, Error> migrate(Database& database, const std::string& path) {
  database.execute("BEGIN IMMEDIATE");
  // Looked at again: another process may have done it meanwhile.
  const auto version = database.has_failed() ? 0 : check_version(database, path);
  if (!version) {
    database.execute("ROLLBACK");
    return std::unexpected(version.error());
  }
  for (std::size_t step = static_cast<std::size_t>(*version); step < kMigrations.size(); ++step) {
    database.execute(kMigrations[step]);
  }
  if (*version < static_cast<std::int64_t>(kMigrations.size())) {
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                 kApplication, kMigrations.size())
                         .c_str());
  }
  database.execute("COMMIT");
  auto outcome = database.outcome(path);
  if (!outcome) {
    database.execute("ROLLBACK");
    database.take_failure();
  }
  return outcome;
}

namespace {

constexpr mode_t kStoreFileMode = 0600;
constexpr mode_t kOurDirectory = 0700;

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
  FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kStoreFileMode));
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
  if (version >= kVersionWithHiddenSessions) {
    missing += 1 - database.value_of(
                       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = "
                       "'hidden_sessions'");
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
  if (version == 0)
    return fail(ErrorCode::unavailable, "there is no store yet; `treaty serve` makes one", path);
  if (version < kOldestReadable) {
    return fail(ErrorCode::unavailable,
                "the store is of an older version; `treaty serve` brings it up to date", path);
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
    return fail(ErrorCode::unavailable, "this is a directory; name a file in it", path);
  }
  if (purpose == Purpose::run) {
    make_file(path);
  } else if (!exists(path)) {
    return fail(ErrorCode::unavailable, "there is no store yet; `treaty serve` makes one", path);
  }
  TREATY_TRY(Database database,
             purpose == Purpose::read
                 ? open_to_read(path)
                 : open_to_write(path, purpose == Purpose::run ? Access::create : Access::write));
  Opened opened{.database = std::move(database)};
  if (purpose == Purpose::read) return opened;
  TREATY_TRY(Owners owners, Owners::open(path + "-owners"));
  if (purpose == Purpose::maintain) {
    opened.owners = std::move(owners);
    return opened;
  }
  TREATY_TRY(const SignedOn signed_on,
             sign_on(
                 opened.database, path, [&](std::int64_t owner) { return owners.is_gone(owner); },
                 [&](std::int64_t owner) { return owners.hold(owner); }));
  opened.owners = std::move(owners);
  opened.was_left_open = signed_on.others_were_gone;
  return opened;
}

}  // namespace treaty::store::sqlite
