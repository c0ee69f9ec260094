// The states of quota pools, which dispatch writes and reads and nobody here looks into.
#pragma once

#include <expected>
#include <vector>

#include "treaty/store/pools.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

// Forgets those that were not saved for 60 days.
std::expected<void, Error> save_pools(const Transaction& transaction,
                                      const std::vector<PoolRecord>& pools);

std::vector<PoolRecord> pools(Database& database);

}  // namespace treaty::store::sqlite
