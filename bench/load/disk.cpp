#include "bench/load/disk.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {
namespace {

class Database {
 public:
  explicit Database(const std::string& path) { sqlite3_open(path.c_str(), &handle_); }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool execute(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
    if (code != SQLITE_OK) fmt::print(stderr, "sqlite: {}\n", message == nullptr ? "?" : message);
    sqlite3_free(message);
    return code == SQLITE_OK;
  }

  long count(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
    const long value =
        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace

double commit_microseconds(const std::string& folder) {
  constexpr int kCommits = 300;
  Database database(folder + "/commits.db");
  if (!database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                        "CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")) {
    return 0;
  }
  std::vector<double> microseconds;
  for (int i = 0; i < kCommits; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (!database.execute("INSERT INTO rows (text) VALUES (printf('%.1000c', 'x'))")) return 0;
    microseconds.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::ranges::sort(microseconds);
  return microseconds[microseconds.size() / 2];
}

// The tables are those of store/sqlite/opening.cpp. Ids are moved by whole multiples of what is
// there; the ids of requests and answers are 256 times those of turns.
long multiply_journal(const std::string& database, int times) {
  Database journal(database);
  const long sessions = journal.count("SELECT max(id) FROM sessions");
  const long turns = journal.count("SELECT max(id) FROM turns");
  const std::string copies = fmt::format(
      "WITH RECURSIVE copies(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM copies WHERE k < {}) ",
      times);
  const std::string session = fmt::format("k * {}", sessions);
  const std::string turn = fmt::format("k * {}", turns);
  const auto moved_turn = [&](const char* column) {
    return fmt::format("iif({0} = 0, 0, {0} + {1})", column, turn);
  };
  const bool done =
      journal.execute("PRAGMA synchronous=OFF; BEGIN") &&
      journal.execute(
          copies +
          fmt::format("INSERT INTO sessions SELECT id + {}, tenant, session_id || '-' || k, agent, "
                      "conversation, opening_turn, NULL, created_at, updated_at, turns, {}, {}, "
                      "context_at FROM copies, sessions",
                      session, moved_turn("newest"), moved_turn("last"))) &&
      journal.execute(
          copies +
          fmt::format(
              "INSERT INTO turns SELECT id + {}, session + {}, number, state, owner, round, "
              "{}, tool_deadline, retryable, has_streamed, events, created_at, updated_at, "
              "turn_id, mode, error_code, pending FROM copies, turns",
              turn, session, moved_turn("previous"))) &&
      journal.execute(copies +
                      fmt::format("INSERT INTO names SELECT session + {}, name, "
                                  "target + iif(name >= 1 << 62, 256, 1) * {} FROM copies, names",
                                  session, turn)) &&
      journal.execute(
          copies +
          fmt::format("INSERT INTO requests SELECT id + 256 * {}, \"key\", fingerprint, dialect, "
                      "streaming, events, body, format FROM copies, requests",
                      turn)) &&
      journal.execute(
          copies +
          fmt::format("INSERT INTO answers SELECT id + 256 * {}, dialect, first_event, created_at, "
                      "error_code, events, body, transcript, deltas, format, "
                      "result FROM copies, answers",
                      turn)) &&
      journal.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  return done ? journal.count("SELECT count(*) FROM turns") : 0;
}

}  // namespace bench
