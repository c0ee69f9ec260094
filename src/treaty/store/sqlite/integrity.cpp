#include "treaty/store/sqlite/integrity.h"

#include <fmt/format.h>

#include <array>

namespace treaty::store::sqlite {
namespace {

constexpr int kSteps = 10'000;  // Of SQLite's machine, between two looks at the flag.

// One table at a time: while one is read, the log cannot begin anew.
constexpr std::array kChecks = {
    "PRAGMA quick_check(machine_checkpoints)",
    "PRAGMA quick_check(machine_latest)",
    "PRAGMA quick_check(machine_journal)",
    "PRAGMA quick_check(execution_leases)",
    "PRAGMA quick_check(signals)",
    "PRAGMA quick_check(work_pool)",
    "PRAGMA quick_check(sessions)",
    "PRAGMA quick_check(contexts)",
    "PRAGMA quick_check(turns)",
    "PRAGMA quick_check(names)",
    "PRAGMA quick_check(requests)",
    "PRAGMA quick_check(answers)",
    "PRAGMA quick_check(spending)",
    "PRAGMA quick_check(reservations)",
    "PRAGMA quick_check(shares)",
    "PRAGMA quick_check(pools)",
};

int is_stopped(void* stop) { return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0; }

}  // namespace

std::optional<Error> find_damage(Database& database, const std::string& path,
                                 const std::atomic<bool>& stop) {
  sqlite3_progress_handler(database.handle(), kSteps, is_stopped,
                           const_cast<std::atomic<bool>*>(&stop));
  std::string damage;
  for (const char* check : kChecks) {
    Statement statement(database, check);
    if (!statement.next()) break;
    if (std::string line = statement.text(); line != "ok") {
      damage = std::move(line);
      break;
    }
  }
  sqlite3_progress_handler(database.handle(), 0, nullptr, nullptr);
  const auto failure = database.take_failure();
  if (stop) return std::nullopt;
  if (failure) return error_of(*failure, path);
  if (damage.empty()) return std::nullopt;
  return error_of({.code = SQLITE_CORRUPT, .message = damage}, path);
}

BackgroundCheck::BackgroundCheck(std::string path, std::function<void(const Error&)> on_damage)
    : thread_([this, path = std::move(path), report = std::move(on_damage)] {
        auto database = Database::open(path, Access::read);
        if (!database) return report(error_of(database.error(), path));
        if (const auto error = find_damage(*database, path, stop_)) report(*error);
      }) {}

BackgroundCheck::~BackgroundCheck() {
  stop_ = true;
  thread_.join();
}

}  // namespace treaty::store::sqlite
