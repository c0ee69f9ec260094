// Whole sessions as the writer changes them: deleted, and branched off.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

std::expected<bool, Error> delete_session(const Transaction& transaction, const Room& room);

// Those of the sessions that are still stale.
std::expected<Pruned, Error> delete_stale(const Transaction& transaction,
                                          const std::vector<std::int64_t>& sessions,
                                          Milliseconds before);

std::expected<Session, Error> branch(const Transaction& transaction, const Room& from,
                                     const std::string& turn_id, const std::string& into);

}  // namespace treaty::store::sqlite
