// Queries of more than one row: lists, history, diagnostics, what is overdue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/sqlite/database.h"
#include "treaty/store/store.h"

namespace treaty::store::sqlite {

std::optional<TurnRecord> find_record(Database& database, const Room& room,
                                      std::string_view turn_id);
std::vector<Turn> list_turns(Database& database, std::int64_t session, std::int64_t after_number,
                             std::size_t limit);
TurnJournal::History history(Database& database, std::int64_t session, std::int64_t before_number,
                             std::size_t bytes);
std::vector<EventRow> events(Database& database, std::int64_t session, std::int64_t from_number,
                             std::size_t limit);
std::vector<TurnJournal::Overdue> overdue(Database& database, Milliseconds now, std::size_t limit);

// A session that nothing was written to for long.
struct Stale {
  std::int64_t session = 0;
  std::int64_t turns = 0;
};
std::vector<Stale> stale_sessions(Database& database, Milliseconds before,
                                  const std::optional<std::string>& tenant);

}  // namespace treaty::store::sqlite
