// Budgets as the writer keeps them: sums of a day for each scope, and what is set aside of them.
// And the states of quota pools, which dispatch writes and reads and nobody here looks into.
//
// As in journal.h: every function runs inside a transaction that it shares with others, and a
// refusal leaves nothing behind.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "treaty/store/budgets.h"
#include "treaty/store/pools.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

std::expected<Reserved, Error> reserve(const Transaction& transaction, const Purchase& purchase);
std::expected<void, Error> settle_reservation(const Transaction& transaction, std::int64_t id,
                                              Amount spent);

// In full, since nobody can say any more how much of it was needed: what one process has reserved,
void spend_all_of(Database& database, std::int64_t owner);

// and what processes have reserved that are gone. True when there was something.
bool spend_abandoned(Database& database, const IsGone& is_gone);

std::vector<Spending> spending(Database& database, std::int64_t day);

// Forgets those that were not saved for 60 days.
void save_pools(const Transaction& transaction, const std::vector<PoolRecord>& pools);
std::vector<PoolRecord> pools(Database& database);

}  // namespace treaty::store::sqlite
