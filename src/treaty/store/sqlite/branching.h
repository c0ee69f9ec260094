// How a branch comes to be: its source is read a part at a time, and each part is written in a
// transaction of its own, so that other operations can write in between. Until the last part is
// written no query finds the branch (deleting.h).
//
//   plan  = plan_branch(…)
//   do { part = rename_part(read_part(…)); branch = write_part(…) } while (!part.is_last)
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

// What is copied next.
struct BranchPlace {
  std::int64_t number = 1;  // Of the turn in the source.
  int round = 0;
  std::int64_t latched = -1;  // The number of the context that was copied last.
};

struct BranchSource {
  Room from{};
  BranchPlan plan{};
  BranchPlace next{};
};

// A turn that begins, a round of it, or a context that is latched from there on.
struct BranchItem {
  std::optional<Turn> turn{};
  std::optional<Round> round{};
  std::optional<std::string> context{};
};

struct BranchPart {
  std::vector<BranchItem> items{};
  BranchPlace next{};
  bool is_last = false;
};

std::expected<BranchSource, Error> find_source(Database& database, const Room& from,
                                               const std::string& turn_id, const std::string& into);

// About 1 MiB. `not_found` when the source was deleted meanwhile.
std::expected<BranchPart, Error> read_part(Database& database, const BranchSource& source);

// The answers of the copy name the session that they are in from now on. Reads nothing: the log of
// the store cannot begin anew while something is read from it, and large answers take their time.
BranchPart rename_part(Database& database, const BranchSource& source, const BranchPart& part);

// The branch as far as it is written.
struct Branch {
  SessionRow row{};  // Its id is 0 before the first part.
  Turn turn{};       // The newest.
};

std::expected<Branch, Error> write_part(const Transaction& transaction, const Branch& before,
                                        const BranchPart& part);

// The branch will not be completed: its rows may be deleted.
void give_up(const Transaction& transaction, std::int64_t session);

}  // namespace treaty::store::sqlite
