#include "treaty/store/sqlite/work_rows.h"

#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/work_pool.h"

namespace treaty::store::sqlite {

namespace {

using Texts = std::vector<std::string>;

std::expected<void, Error> work_outcome(Database& database) {
  if (database.has_failed() || database.changes() > 0) return {};
  return std::unexpected(not_your_work());
}

}  // namespace

bool has_machines(Database& database) {
  return database.value_of("PRAGMA user_version") >= kVersionWithMachines;
}

Texts push_work(const Transaction& transaction, const std::string& pool, const Texts& items,
                int max_retries) {
  const std::string at = timestamp_of(transaction.now);
  Texts ids;
  ids.reserve(items.size());
  for (const std::string& item : items) {
    ids.push_back(new_uuid());
    Statement(transaction.database,
              "INSERT INTO work_pool (item_id, pool_name, data, status, attempts, max_retries, "
              "created_at) VALUES (?, ?, ?, 'pending', 0, ?, ?)",
              ids.back(), pool, item, max_retries, at)
        .run();
  }
  return ids;
}

void heartbeat(const Transaction& transaction, const std::string& pool, const std::string& worker) {
  Statement(transaction.database,
            "UPDATE work_pool SET heartbeat = ? WHERE pool_name = ? AND status = 'claimed' AND "
            "claimed_by = ?",
            transaction.now, pool, worker)
      .run();
}

std::optional<WorkItem> claim_work(const Transaction& transaction, const std::string& pool,
                                   const std::string& worker) {
  const std::string at = timestamp_of(transaction.now);
  WorkItem item;
  {
    Statement row(
        transaction.database,
        "UPDATE work_pool SET status = 'claimed', claimed_by = ?, claimed_at = ?, "
        "heartbeat = ?, attempts = attempts + 1 WHERE rowid = (SELECT rowid FROM work_pool "
        "WHERE pool_name = ? AND status = 'pending' ORDER BY rowid LIMIT 1) "
        "RETURNING item_id, data, attempts",
        worker, at, transaction.now, pool);
    if (!row.next()) return std::nullopt;
    item = {.id = row.text(), .data = row.text(), .attempts = static_cast<int>(row.integer())};
  }
  heartbeat(transaction, pool, worker);  // Who claims lives, for all that it has.
  return item;
}

std::expected<void, Error> complete_work(const Transaction& transaction, const std::string& pool,
                                         const std::string& item, const std::string& worker,
                                         const std::string& result) {
  Statement(transaction.database,
            "UPDATE work_pool SET status = 'completed', result = ? WHERE item_id = ? AND "
            "pool_name = ? AND claimed_by = ? AND status = 'claimed'",
            result, item, pool, worker)
      .run();
  return work_outcome(transaction.database);
}

std::expected<void, Error> fail_work(const Transaction& transaction, const std::string& pool,
                                     const std::string& item, const std::string& worker,
                                     const std::string& error) {
  Statement(transaction.database,
            "UPDATE work_pool SET status = iif(attempts >= max_retries, 'poisoned', 'pending'), "
            "error = ?, claimed_by = NULL, claimed_at = NULL WHERE item_id = ? AND "
            "pool_name = ? AND claimed_by = ? AND status = 'claimed'",
            error, item, pool, worker)
      .run();
  return work_outcome(transaction.database);
}

std::expected<void, Error> excuse_work(const Transaction& transaction, const std::string& pool,
                                       const std::string& item, const std::string& worker) {
  Statement(transaction.database,
            "UPDATE work_pool SET attempts = attempts - 1 WHERE item_id = ? AND pool_name = ? AND "
            "claimed_by = ? AND status = 'claimed'",
            item, pool, worker)
      .run();
  return work_outcome(transaction.database);
}

ReleasedWork release_stale_work(const Transaction& transaction, const std::string& pool) {
  Texts stale;
  {
    Statement workers(transaction.database,
                      "SELECT claimed_by, max(heartbeat) FROM work_pool WHERE pool_name = ? AND "
                      "status = 'claimed' GROUP BY claimed_by",
                      pool);
    while (workers.next()) {
      std::string worker = workers.text();
      if (is_stale(worker, workers.integer(), transaction.now)) stale.push_back(std::move(worker));
    }
  }
  ReleasedWork released;
  for (const std::string& worker : stale) {
    {
      Statement poisoned(
          transaction.database,
          "UPDATE work_pool SET status = 'poisoned', error = ?, claimed_by = NULL, "
          "claimed_at = NULL WHERE pool_name = ? AND status = 'claimed' AND claimed_by = ? AND "
          "attempts >= max_retries RETURNING item_id, attempts",
          kWorkerGone, pool, worker);
      while (poisoned.next()) {
        released.poisoned.push_back(
            {.id = poisoned.text(), .attempts = static_cast<int>(poisoned.integer())});
      }
    }
    Statement(transaction.database,
              "UPDATE work_pool SET status = 'pending', claimed_by = NULL, claimed_at = NULL "
              "WHERE pool_name = ? AND status = 'claimed' AND claimed_by = ?",
              pool, worker)
        .run();
    if (!transaction.database.has_failed()) released.pending += transaction.database.changes();
  }
  return released;
}

WorkCounts count_work(Database& database, const std::string& pool) {
  if (!has_machines(database)) return {};
  WorkCounts counts;
  Statement rows(
      database, "SELECT status, count(*) FROM work_pool WHERE pool_name = ? GROUP BY status", pool);
  while (rows.next()) {
    const std::string status = rows.text();
    const std::int64_t count = rows.integer();
    if (status == "pending") counts.pending = count;
    if (status == "claimed") counts.claimed = count;
    if (status == "completed") counts.completed = count;
    if (status == "poisoned") counts.poisoned = count;
  }
  return counts;
}

}  // namespace treaty::store::sqlite
