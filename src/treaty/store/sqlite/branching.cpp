#include "treaty/store/sqlite/branching.h"

#include "treaty/base/try.h"
#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kItemsAtOnce = 200;

std::size_t size_of(const Round& round) {
  std::size_t size = round.request.body.size() + round.request.events.size();
  if (const auto& answer = round.answer) {
    size += answer->body.size() + answer->result.size() + answer->transcript.size() +
            answer->deltas.size() + answer->events.size();
  }
  return size;
}

// One part in the making.
struct BranchReading {
  Database& database;
  const BranchSource& source;
  BranchPart part{.next = source.next};
  std::size_t bytes = 0;

  bool is_full() const { return bytes >= kBytesAtOnce || part.items.size() >= kItemsAtOnce; }

  // False: the part is full.
  bool read_turn(const Turn& turn) {
    int& round = part.next.round;
    if (round == 0) part.items.push_back({.turn = turn});
    for (; round < kRounds; ++round) {
      if (round > 0 && is_full()) return false;
      auto read = read_round(database, {.turn = turn.id, .round = round});
      if (!read) break;  // Rounds have no gaps.
      bytes += size_of(*read);
      part.items.push_back({.round = std::move(read)});
    }
    return true;
  }

  // What the source had latched when the turn of that number ran.
  void read_context(std::int64_t number) {
    Statement latched(database,
                      "SELECT number, solution_context FROM contexts WHERE session = ? AND "
                      "number <= ? AND number > ? ORDER BY number DESC LIMIT 1",
                      source.plan.source, number, part.next.latched);
    if (!latched.next()) return;
    part.next.latched = latched.integer();
    part.items.push_back({.context = latched.text()});
    bytes += part.items.back().context->size();
  }
};

bool is_taken(Database& database, const Room& room) {
  return SqliteRows(database, Contexts::left_out).find_session(room).has_value();
}

bool is_hidden_by(Database& database, std::int64_t session, std::int64_t owner) {
  Statement hidden(database, "SELECT 1 FROM hidden_sessions WHERE session = ? AND owner = ?",
                   session, owner);
  return hidden.next();
}

void write_item(const Transaction& transaction, Branch& branch, const BranchItem& item) {
  Database& database = transaction.database;
  if (item.turn) {
    TurnRow copy = copy_for_branch(*item.turn, branch.row);
    insert_turn(database, branch.row, copy);
    branch.turn = std::move(copy.turn);
  }
  if (item.round) {
    write_request(database, branch.turn, item.round->request);
    if (item.round->answer) {
      write_answer(database, branch.turn.id, *item.round->answer, transaction.now);
    }
  }
  if (item.context) {
    branch.row.context_at = branch.row.session.turns;
    write_context(database, branch.row.session.id, branch.row.context_at, *item.context);
  }
}

}  // namespace

std::expected<BranchSource, Error> find_source(Database& database, const Room& from,
                                               const std::string& turn_id,
                                               const std::string& into) {
  SqliteRows rows(database, Contexts::left_out);
  TREATY_TRY(BranchPlan plan, plan_branch(rows, from, turn_id, into));
  return BranchSource{.from = from, .plan = std::move(plan)};
}

std::expected<BranchPart, Error> read_part(Database& database, const BranchSource& source) {
  const BranchPlan& plan = source.plan;
  BranchReading reading{.database = database, .source = source};
  if (!has_session(database, plan.source)) {
    return fail(ErrorCode::not_found, "the session was deleted while it was copied");
  }
  BranchPlace& next = reading.part.next;
  while (next.number <= plan.last_number && !reading.is_full()) {
    const auto turns = list_turns(database, plan.source, next.number - 1, 1);
    if (turns.empty() || turns.front().number > plan.last_number) break;
    const Turn& turn = turns.front();
    if (is_branched(turn)) {
      if (!reading.read_turn(turn)) return std::move(reading.part);
      reading.read_context(turn.number);
    }
    next = {.number = turn.number + 1, .round = 0, .latched = next.latched};
  }
  if (next.number <= plan.last_number && reading.is_full()) return std::move(reading.part);
  reading.read_context(plan.last_number);
  reading.part.is_last = true;
  return std::move(reading.part);
}

BranchPart rename_part(Database& /*database*/, const BranchSource& source, const BranchPart& part) {
  BranchPart renamed = part;
  for (BranchItem& item : renamed.items) {
    if (!item.round || !item.round->answer) continue;
    std::string& body = item.round->answer->body;
    body = renamed_body(std::move(body), source.from, source.plan.session.session.room);
  }
  return renamed;
}

std::expected<Branch, Error> write_part(const Transaction& transaction, const Branch& before,
                                        const BranchPart& part) {
  Database& database = transaction.database;
  Branch branch = before;
  Session& session = branch.row.session;
  const bool is_first = session.id == 0;
  if (transaction.owner == 0) return std::unexpected(conflict("this process does not run turns"));
  if ((is_first || part.is_last) && is_taken(database, session.room)) {
    return std::unexpected(conflict("a session of that name exists already"));
  }
  if (!is_first && !is_hidden_by(database, session.id, transaction.owner)) {
    return std::unexpected(conflict("the branch was given up"));
  }
  if (is_first) {
    session.created_at = transaction.now;
    session.updated_at = transaction.now;
    insert_session(database, branch.row);
    if (!part.is_last) {
      // Its number stays taken.
      Statement(database, "DELETE FROM sessions WHERE id = ?", session.id).run();
      Statement(database, "INSERT INTO hidden_sessions VALUES (?, ?)", session.id,
                transaction.owner)
          .run();
    }
  }
  for (const BranchItem& item : part.items) write_item(transaction, branch, item);
  if (!part.is_last) return branch;
  if (!is_first) {
    insert_session(database, branch.row);
    Statement(database, "DELETE FROM hidden_sessions WHERE session = ?", session.id).run();
  }
  update_session(database, branch.row);
  return branch;
}

void give_up(const Transaction& transaction, std::int64_t session) {
  Statement(transaction.database, "UPDATE hidden_sessions SET owner = 0 WHERE session = ?", session)
      .run();
}

}  // namespace treaty::store::sqlite
