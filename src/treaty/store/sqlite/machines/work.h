// Work pools as the writer keeps them. Every change is one statement, so that of many who want an
// item one gets it, in whatever process they are.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/store/machines.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

// An item as its worker names it.
struct WorkPlace {
  std::string pool{};
  std::string item{};
  std::string worker{};
};

std::vector<std::string> push_work(const Transaction& transaction, const std::string& pool,
                                   const std::vector<std::string>& items, int max_retries);
std::optional<WorkItem> claim_work(const Transaction& transaction, const std::string& pool,
                                   const std::string& worker);
std::expected<void, Error> complete_work(const Transaction& transaction, const WorkPlace& place,
                                         const std::string& result);
std::expected<void, Error> fail_work(const Transaction& transaction, const WorkPlace& place,
                                     const std::string& error);
void heartbeat(const Transaction& transaction, const std::string& pool, const std::string& worker);
std::int64_t release_stale_work(const Transaction& transaction, const std::string& pool);
WorkCounts count_work(Database& database, const std::string& pool);

}  // namespace treaty::store::sqlite
