#include "treaty/store/sqlite/reads.h"

#include "treaty/store/sqlite/rows.h"

namespace treaty::store::sqlite {
namespace {

// In `names`, numbers of turns are below all other names.
constexpr std::int64_t kNumbers = std::int64_t{1} << 61;

}  // namespace

std::optional<TurnRecord> find_record(Database& database, const Room& room,
                                      std::string_view turn_id) {
  const auto session = find_session(database, room);
  if (!session) return std::nullopt;
  auto row = find_turn(database, session->session.id, turn_id);
  if (!row) return std::nullopt;
  TurnRecord record{.turn = std::move(row->turn)};
  record.rounds = read_rounds(database, record.turn.id, Detail::all);
  return record;
}

std::vector<Turn> list_turns(Database& database, std::int64_t session, std::int64_t after_number,
                             std::size_t limit) {
  std::vector<Turn> turns;
  Statement names(database,
                  "SELECT target FROM names WHERE session = ? AND name > ? AND name < ? "
                  "ORDER BY name LIMIT ?",
                  session, after_number, kNumbers, static_cast<std::int64_t>(limit));
  while (names.next()) {
    if (auto row = find_turn(database, names.integer())) turns.push_back(std::move(row->turn));
  }
  return turns;
}

TurnJournal::History history(Database& database, std::int64_t session, std::int64_t before_number,
                             std::size_t bytes) {
  TurnJournal::History history;
  Statement names(database,
                  "SELECT target FROM names WHERE session = ? AND name > 0 AND name < ? "
                  "ORDER BY name DESC",
                  session, before_number);
  std::size_t used = 0;
  while (names.next()) {
    auto row = find_turn(database, names.integer());
    if (!row || row->turn.state != TurnState::completed) continue;
    TurnRecord record{.turn = std::move(row->turn)};
    record.rounds = read_rounds(database, record.turn.id, Detail::conversation);
    used += history_size(record.rounds);
    if (used > bytes) {
      history.more = true;
      return history;
    }
    history.turns.push_back(std::move(record));
  }
  return history;
}

std::vector<EventRow> events(Database& database, std::int64_t session, std::int64_t from_number,
                             std::size_t limit) {
  std::vector<EventRow> rows;
  Statement names(database,
                  "SELECT target FROM names WHERE session = ? AND name >= ? AND name < ? "
                  "ORDER BY name",
                  session, from_number, kNumbers);
  while (rows.size() < limit && names.next()) {
    const auto row = find_turn(database, names.integer());
    if (!row) continue;
    // Of one round the request was written before the answer.
    Statement found(database,
                    "SELECT id, 0 AS kind, events FROM requests WHERE id >= ?1 AND id < ?2 AND "
                    "events <> '' UNION ALL SELECT id, 1, events FROM answers WHERE id >= ?1 AND "
                    "id < ?2 AND events <> '' ORDER BY 1, 2",
                    row->turn.id * kRounds, (row->turn.id + 1) * kRounds);
    while (rows.size() < limit && found.next()) {
      found.integer();
      found.integer();
      rows.push_back(
          {.number = row->turn.number, .turn_id = row->turn.turn_id, .events = found.text()});
    }
  }
  return rows;
}

std::vector<TurnJournal::Overdue> overdue(Database& database, Milliseconds now, std::size_t limit) {
  std::vector<TurnJournal::Overdue> found;
  Statement statement(database,
                      "SELECT s.tenant, s.session_id, t.turn_id "
                      "FROM turns t INDEXED BY open_turns JOIN sessions s ON s.id = t.session "
                      "WHERE t.state < 2 AND t.state = 1 AND t.tool_deadline > 0 "
                      "AND t.tool_deadline < ? ORDER BY t.tool_deadline LIMIT ?",
                      now, static_cast<std::int64_t>(limit));
  while (statement.next()) {
    TurnJournal::Overdue overdue;
    overdue.room.tenant = statement.text();
    overdue.room.session_id = statement.text();
    overdue.turn_id = statement.text();
    found.push_back(std::move(overdue));
  }
  return found;
}

std::vector<Stale> stale_sessions(Database& database, Milliseconds before,
                                  const std::optional<std::string>& tenant) {
  std::vector<Stale> stale;
  const std::string of = tenant.value_or("");
  Statement statement(database,
                      "SELECT s.id, s.turns FROM sessions s LEFT JOIN turns t ON t.id = s.last "
                      "WHERE (?1 = 0 OR s.tenant = ?2) AND s.updated_at < ?3 "
                      "AND ifnull(t.updated_at, 0) < ?3 AND NOT EXISTS (SELECT 1 FROM turns n "
                      "WHERE n.id = s.newest AND n.state = 0) ORDER BY s.id",
                      tenant.has_value(), of, before);
  while (statement.next()) {
    const std::int64_t session = statement.integer();
    stale.push_back({.session = session, .turns = statement.integer()});
  }
  return stale;
}

}  // namespace treaty::store::sqlite
