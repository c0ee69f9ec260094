// Work pools in SQLite. Every change is one statement, so that only one of many workers gets an
// item, whatever process they are in. As in journal.h: every function that writes runs inside a
// transaction that it shares with others.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/store/machines.h"
#include "treaty/store/sqlite/database.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

// False for a file of an older version that is only read.
bool has_machines(Database& database);

std::vector<std::string> push_work(const Transaction& transaction, const std::string& pool,
                                   const std::vector<std::string>& items, int max_retries);
void heartbeat(const Transaction& transaction, const std::string& pool, const std::string& worker);
std::optional<WorkItem> claim_work(const Transaction& transaction, const std::string& pool,
                                   const std::string& worker);
std::expected<void, Error> complete_work(const Transaction& transaction, const std::string& pool,
                                         const std::string& item, const std::string& worker,
                                         const std::string& result);
std::expected<void, Error> fail_work(const Transaction& transaction, const std::string& pool,
                                     const std::string& item, const std::string& worker,
                                     const std::string& error);
std::expected<void, Error> excuse_work(const Transaction& transaction, const std::string& pool,
                                       const std::string& item, const std::string& worker);
ReleasedWork release_stale_work(const Transaction& transaction, const std::string& pool);
WorkCounts count_work(Database& database, const std::string& pool);

}  // namespace treaty::store::sqlite
