// Turns as the writer changes them: what a decision sees, and what comes of it.
//
// Every function runs inside a transaction that it shares with others. It finds out whether it can
// be done before it writes anything, so that a refusal leaves nothing behind to be undone.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "treaty/store/journal.h"
#include "treaty/store/planning.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

struct Transaction {
  Database& database;
  std::int64_t owner = 0;  // The number of this process; 0: it runs no turns.
  const IsGone& is_gone;
  Milliseconds now = 0;
};

std::expected<Applied, Error> decide(const Transaction& transaction, const Lookup& lookup,
                                     const ChangeFunction& decide);
std::expected<void, Error> settle(const Transaction& transaction, const Settlement& settlement);
void mark_streamed(const Transaction& transaction, std::int64_t turn, const std::string& events);
std::expected<std::vector<Abandoned>, Error> claim_abandoned(const Transaction& transaction,
                                                             const TurnJournal::Diary& diary,
                                                             std::optional<std::int64_t> only);

}  // namespace treaty::store::sqlite
