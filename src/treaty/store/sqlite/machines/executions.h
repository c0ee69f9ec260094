// Executions as the writer keeps them: leases, checkpoints, journals.
//
// As in journal.h: every function that writes runs inside a transaction that it shares with others,
// and a refusal leaves nothing behind.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/store/leases.h"
#include "treaty/store/machines.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

std::expected<Lease, Error> acquire(const Transaction& transaction, const std::string& execution,
                                    const std::string& owner);
std::expected<void, Error> renew(const Transaction& transaction, const std::string& execution,
                                 const std::string& owner, std::int64_t token);
std::expected<void, Error> release(const Transaction& transaction, const std::string& execution,
                                   const std::string& owner, std::int64_t token);

// Whether it may be written.
std::expected<void, Error> check_token(Database& database, const MachineWrite& write,
                                       const std::string& owner);

// After check_token().
void apply(const Transaction& transaction, const MachineWrite& write);

std::optional<ExecutionRecord> find_execution(Database& database, const std::string& execution);
std::vector<ExecutionRow> list_executions(Database& database, Milliseconds now);

// Those that nothing has happened to since they were listed. Answers which.
std::vector<std::string> delete_executions(const Transaction& transaction,
                                           const std::vector<ExecutionRow>& rows);

}  // namespace treaty::store::sqlite
