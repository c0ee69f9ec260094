// How sessions and executions leave the store: a session disappears from view in one transaction,
// then its rows are deleted a few at a time, so that other operations can write in between. What
// could not be deleted, because the process was killed or the disk was full, is swept up later.
//
// A session that is in `hidden_sessions` and not in `sessions` is either being deleted or the copy
// of another one that is not complete yet (branching.h). No query finds it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "treaty/store/machines.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

// How many rows, or pages of large rows, one transaction deletes.
class Portion {
 public:
  explicit Portion(Database& database) : database_(database), free_before_(free_pages()) {}

  // Deletes the rows that `delete_one` finds, one after the other. True when none are left, false
  // when the portion is used up, or the database has failed.
  template <class... Parameters>
  bool delete_rows(const char* delete_one, const Parameters&... parameters) {
    while (!is_used_up()) {
      if (!Statement(database_, delete_one, parameters...).run()) return false;
      if (database_.changes() == 0) return true;
      ++rows_;
    }
    return false;
  }

 private:
  bool is_used_up();
  std::int64_t free_pages() { return database_.value_of("PRAGMA freelist_count"); }

  Database& database_;
  const std::int64_t free_before_;
  int rows_ = 0;
};

// --- Sessions

// Takes the session out of view; its number. Nothing when there is none; `conflict` while one of
// its turns runs.
std::expected<std::optional<std::int64_t>, Error> hide_session(const Transaction& transaction,
                                                               const Room& room);

// Deletes a portion of what is left of a hidden session. True when that was all.
bool delete_some(const Transaction& transaction, std::int64_t session);

// The same for the hidden sessions to which nothing is copied any more: neither by another process
// that lives nor, unless `copies`, by this one. True when there are none.
bool sweep_some(const Transaction& transaction, bool copies);

// Whether there is any hidden session, also one to which something is copied.
bool has_hidden_sessions(Database& database);

// Sessions that may be pruned, a page at a time.
struct StaleQuery {
  Milliseconds before = 0;
  std::optional<std::string> tenant{};
  Milliseconds now = 0;
  std::int64_t after = 0;  // The number of the last session that was looked at.
};
struct StalePage {
  std::vector<std::int64_t> sessions{};
  std::int64_t turns = 0;              // Of all of them.
  std::optional<std::int64_t> next{};  // StaleQuery::after of the next page.
};
StalePage stale_sessions(Database& database, const StaleQuery& query);

// Takes those of the sessions out of view that are still stale.
Pruned hide_stale(const Transaction& transaction, const std::vector<std::int64_t>& sessions,
                  Milliseconds before);

// --- Executions

// Deletes a portion of these executions, in their order, unless they have changed since they were
// listed. One of which only a part was deleted can still be resumed.
struct DeletedExecutions {
  std::size_t done = 0;  // So many of the rows need not be looked at again.
  std::vector<std::string> deleted{};
};
DeletedExecutions delete_executions(const Transaction& transaction,
                                    const std::vector<ExecutionRow>& rows);

}  // namespace treaty::store::sqlite
