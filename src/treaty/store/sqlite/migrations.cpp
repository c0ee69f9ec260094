#include "treaty/store/sqlite/migrations.h"

#include <fmt/format.h>

#include <array>

#include "treaty/base/try.h"

namespace treaty::store::sqlite {
namespace {

// Rows of turns, requests and answers are only ever appended, so that a transaction of many turns
// shares its pages. What finds them again is in `names`, where all entries of a session are
// together:
//   name = number of a turn                   target = its id
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

constexpr std::array kMigrations = {kJournal, kBudgets, kMachines, kResults};

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

std::expected<std::int64_t, Error> check_version(Database& database, const std::string& path) {
  const std::int64_t application = database.value_of("PRAGMA application_id");
  const std::int64_t version = database.value_of("PRAGMA user_version");
  const std::int64_t tables = database.value_of("SELECT count(*) FROM sqlite_schema");
  TREATY_TRY_VOID(database.outcome(path));
  if (application == 0 && version == 0 && tables == 0) return 0;
  if (application != kApplication) {
    return std::unexpected(
        Error{.code = ErrorCode::corrupt,
              .message = "this is the database of another program; name another file",
              .where = path});
  }
  const auto known = static_cast<std::int64_t>(kMigrations.size());
  if (version > known) {
    return std::unexpected(
        Error{.code = ErrorCode::too_new,
              .message = fmt::format("the store has version {}, and this program knows versions up "
                                     "to {}; use the newer program, or a copy from before the "
                                     "upgrade",
                                     version, known),
              .where = path});
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

}  // namespace treaty::store::sqlite
