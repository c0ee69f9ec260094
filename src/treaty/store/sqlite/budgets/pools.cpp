#include "treaty/store/sqlite/budgets/pools.h"

#include "treaty/store/sqlite/migrations.h"

namespace treaty::store::sqlite {
namespace {

constexpr Milliseconds kKept = Milliseconds{60} * 24 * 60 * 60 * 1000;

}  // namespace

std::expected<void, Error> save_pools(const Transaction& transaction,
                                      const std::vector<PoolRecord>& pools) {
  for (const PoolRecord& pool : pools) {
    Statement(transaction.database, "INSERT OR REPLACE INTO pools VALUES (?, ?, ?)", pool.key,
              pool.state, transaction.now)
        .run();
  }
  Statement(transaction.database, "DELETE FROM pools WHERE updated_at < ?", transaction.now - kKept)
      .run();
  return {};
}

std::vector<PoolRecord> pools(Database& database) {
  if (database.value_of("PRAGMA user_version") < kVersionWithBudgets) return {};
  std::vector<PoolRecord> all;
  Statement rows(database, "SELECT \"key\", state FROM pools ORDER BY \"key\"");
  while (rows.next()) {
    std::string key = rows.text();
    all.push_back({.key = std::move(key), .state = rows.text()});
  }
  return all;
}

}  // namespace treaty::store::sqlite
