#include "treaty/store/sqlite/rows.h"

#include <algorithm>

namespace treaty::store::sqlite {
namespace {

// In `names`, numbers of turns are below all other names.
constexpr std::int64_t kTurnNames = std::int64_t{1} << 61;
constexpr std::int64_t kKeyNames = std::int64_t{1} << 62;

constexpr const char* kTargets = "SELECT target FROM names WHERE session = ? AND name = ?";

// FNV-1a: what it answers is on disk, so it is ours and does not change.
std::int64_t hash_of(std::string_view text) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  constexpr unsigned kDropped = 3;  // Room for the two marks above and the sign.
  std::uint64_t hash = kBasis;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  return static_cast<std::int64_t>(hash >> kDropped);
}

void write_name(Database& database, std::int64_t session, std::int64_t name, std::int64_t target) {
  Statement(database, "INSERT INTO names VALUES (?, ?, ?)", session, name, target).run();
}

contracts::Dialect dialect_of(std::int64_t number) {
  return number == 0 ? contracts::Dialect::pascal : contracts::Dialect::camel;
}
int number_of(contracts::Dialect dialect) { return dialect == contracts::Dialect::pascal ? 0 : 1; }

#define TREATY_SESSION_COLUMNS                                                                 \
  "SELECT id, tenant, session_id, agent, conversation, opening_turn, created_at, updated_at, " \
  "turns, newest, last, context_at FROM sessions "

// The next session of a statement that selects these columns, without its context.
std::optional<SessionRow> next_session(Statement& row) {
  if (!row.next()) return std::nullopt;
  SessionRow read;
  Session& session = read.session;
  session.id = row.integer();
  session.room = {.tenant = row.text(), .session_id = row.text()};
  session.agent = row.text();
  session.conversation = row.text();
  session.opening_turn = row.text();
  session.created_at = row.integer();
  session.updated_at = row.integer();
  session.turns = row.integer();
  read.newest = row.integer();
  read.last = row.integer();
  read.context_at = row.integer();
  return read;
}

std::optional<SessionRow> next_session(Database& database, Statement& row, Contexts contexts) {
  auto read = next_session(row);
  if (read && contexts == Contexts::read && read->context_at >= 0) {
    read->session.solution_context = solution_context(database, read->session.id);
  }
  return read;
}

#define TREATY_TURN_COLUMNS                                                              \
  "SELECT id, session, number, turn_id, state, round, mode, tool_deadline, error_code, " \
  "retryable, has_streamed, events, created_at, updated_at, owner, previous "

// The next turn of a statement that selects these columns, without what it waits for.
std::optional<TurnRow> next_turn(Statement& row) {
  if (!row.next()) return std::nullopt;
  return TurnRow{.turn = {.id = row.integer(),
                          .session = row.integer(),
                          .number = row.integer(),
                          .turn_id = row.text(),
                          .state = static_cast<TurnState>(row.integer()),
                          .round = static_cast<int>(row.integer()),
                          .mode = row.text(),
                          .tool_deadline = row.integer(),
                          .error_code = row.text(),
                          .retryable = row.boolean(),
                          .has_streamed = row.boolean(),
                          .events = row.integer(),
                          .created_at = row.integer(),
                          .updated_at = row.integer()},
                 .owner = row.integer(),
                 .previous = row.integer()};
}

std::optional<RequestRecord> read_request(Database& database, std::int64_t id, Detail detail) {
  // All columns: an older version of the table, which is read as it is, has fewer.
  Statement row(database, "SELECT * FROM requests WHERE id = ?", id);
  if (!row.next()) return std::nullopt;
  row.skip();
  RequestRecord request{.round = static_cast<int>(id % kRounds)};
  request.key = row.text();
  request.fingerprint = row.text();
  request.dialect = dialect_of(row.integer());
  request.streaming = row.boolean();
  const std::string_view events = row.view();
  if (detail == Detail::all) request.events = events;
  request.body = row.text();
  if (row.has_column()) request.format = row.text();
  return request;
}

std::optional<AnswerRecord> read_answer(Database& database, std::int64_t id, Detail detail) {
  Statement row(database, "SELECT * FROM answers WHERE id = ?", id);
  if (!row.next()) return std::nullopt;
  row.skip();
  AnswerRecord answer{.round = static_cast<int>(id % kRounds)};
  answer.dialect = dialect_of(row.integer());
  answer.first_event = row.integer();
  answer.created_at = row.integer();
  answer.error_code = row.text();
  const std::string_view events = row.view();
  const std::string_view body = row.view();
  if (detail == Detail::all) answer.body = body;
  answer.transcript = row.text();
  if (detail == Detail::conversation) return answer;
  answer.events = events;
  answer.deltas = row.text();
  if (!row.has_column()) return answer;
  answer.format = row.text();
  answer.result = row.text();
  return answer;
}

// The first number of a turn that has moved, else 0.
std::int64_t number_before_moves(Database& database, const Turn& turn) {
  Statement first(database,
                  "SELECT -name FROM names WHERE session = ? AND name < 0 AND target = ? "
                  "ORDER BY name DESC LIMIT 1",
                  turn.session, turn.id);
  return first.next() ? first.integer() : 0;
}

// The id of a request or of its answer.
std::int64_t id_of(const RoundPlace& place) { return place.turn * kRounds + place.round; }

}  // namespace

std::optional<SessionRow> SqliteRows::find_session(const Room& room) {
  Statement row(database_, TREATY_SESSION_COLUMNS "WHERE tenant = ? AND session_id = ?",
                room.tenant, room.session_id);
  return next_session(database_, row, contexts_);
}

std::optional<SessionRow> SqliteRows::find_session(std::int64_t id) {
  Statement row(database_, TREATY_SESSION_COLUMNS "WHERE id = ?", id);
  return next_session(database_, row, contexts_);
}

std::optional<SessionRow> SqliteRows::find_initial(std::string_view tenant, std::string_view key) {
  Statement row(database_, TREATY_SESSION_COLUMNS "WHERE tenant = ? AND initial_key = ?", tenant,
                Blob{key});
  return next_session(database_, row, contexts_);
}

std::optional<TurnRow> SqliteRows::find_turn(std::int64_t id) {
  if (id == 0) return std::nullopt;
  Statement row(database_, TREATY_TURN_COLUMNS ", pending FROM turns WHERE id = ?", id);
  auto read = next_turn(row);
  if (read) read->turn.pending = row.text();
  return read;
}

std::optional<TurnRow> SqliteRows::find_turn(std::int64_t session, std::string_view turn_id) {
  Statement names(database_, kTargets, session, kTurnNames + hash_of(turn_id));
  while (names.next()) {
    auto row = find_turn(names.integer());
    if (row && row->turn.turn_id == turn_id) return row;
  }
  return std::nullopt;
}

std::optional<RoundPlace> SqliteRows::find_request(std::int64_t session, std::string_view key) {
  Statement names(database_, kTargets, session, kKeyNames + hash_of(key));
  while (names.next()) {
    const std::int64_t id = names.integer();
    Statement request(database_, R"(SELECT "key" FROM requests WHERE id = ?)", id);
    if (!request.next() || request.view() != key) continue;
    return RoundPlace{.turn = id / kRounds, .round = static_cast<int>(id % kRounds)};
  }
  return std::nullopt;
}

std::optional<Round> SqliteRows::read_round(const RoundPlace& place) {
  return sqlite::read_round(database_, place);
}

std::optional<Round> read_round(Database& database, const RoundPlace& place, Detail detail) {
  auto request = read_request(database, id_of(place), detail);
  if (!request) return std::nullopt;
  return Round{.request = *std::move(request),
               .answer = read_answer(database, id_of(place), detail)};
}

std::vector<Round> read_rounds(Database& database, std::int64_t turn, Detail detail) {
  std::vector<Round> rounds;
  for (int round = 0; round < kRounds; ++round) {
    auto read = read_round(database, {.turn = turn, .round = round}, detail);
    if (!read) break;  // Rounds have no gaps.
    rounds.push_back(*std::move(read));
  }
  return rounds;
}

std::optional<Session> find_session(Database& database, const Room& room) {
  auto row = SqliteRows(database, Contexts::left_out).find_session(room);
  return row ? std::optional(with_last_turn(database, *std::move(row))) : std::nullopt;
}

bool has_session(Database& database, std::int64_t session) {
  Statement row(database, "SELECT 1 FROM sessions WHERE id = ?", session);
  return row.next();
}

std::string solution_context(Database& database, std::int64_t session) {
  Statement latched(database,
                    "SELECT c.solution_context FROM sessions s JOIN contexts c ON c.session = s.id "
                    "AND c.number = s.context_at WHERE s.id = ?",
                    session);
  return latched.next() ? latched.text() : std::string();
}

Session with_last_turn(Database& database, SessionRow row) {
  Statement last(database, "SELECT updated_at, turn_id FROM turns WHERE id = ?", row.last);
  if (!last.next()) return std::move(row.session);
  row.session.updated_at = std::max(row.session.updated_at, last.integer());
  row.session.last_turn = last.text();
  return std::move(row.session);
}

std::vector<Session> list_sessions(Database& database, const SessionQuery& query) {
  const std::string tenant = query.tenant.value_or("");
  Statement rows(
      database,
      query.tenant ? TREATY_SESSION_COLUMNS "WHERE id < ? AND tenant = ? ORDER BY id DESC LIMIT ?"
                   : TREATY_SESSION_COLUMNS "WHERE id < ? AND ? = '' ORDER BY id DESC LIMIT ?",
      query.before > 0 ? query.before : INT64_MAX, tenant, static_cast<std::int64_t>(query.limit));
  std::vector<Session> sessions;
  while (auto row = next_session(rows)) {
    sessions.push_back(with_last_turn(database, *std::move(row)));
  }
  return sessions;
}

std::optional<TurnRecord> find_turn(Database& database, const Room& room,
                                    const std::string& turn_id) {
  SqliteRows rows(database, Contexts::left_out);
  const auto session = rows.find_session(room);
  if (!session) return std::nullopt;
  auto row = rows.find_turn(session->session.id, turn_id);
  if (!row) return std::nullopt;
  auto rounds = read_rounds(database, row->turn.id);
  return TurnRecord{.turn = std::move(row->turn), .rounds = std::move(rounds)};
}

std::vector<Turn> list_turns(Database& database, std::int64_t session, std::int64_t after_number,
                             std::size_t limit) {
  std::vector<Turn> turns;
  Statement names(database,
                  "SELECT target FROM names WHERE session = ? AND name > ? AND name < ? "
                  "ORDER BY name LIMIT ?",
                  session, after_number, kTurnNames, static_cast<std::int64_t>(limit));
  while (names.next()) {
    Statement row(database, TREATY_TURN_COLUMNS "FROM turns WHERE id = ?", names.integer());
    if (auto turn = next_turn(row)) turns.push_back(std::move(turn->turn));
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
    auto row = SqliteRows(database).find_turn(names.integer());
    if (!row || row->turn.state != TurnState::completed) continue;
    TurnRecord record{.turn = std::move(row->turn)};
    record.rounds = read_rounds(database, record.turn.id, Detail::conversation);
    used += history_size(record.rounds);
    if (used > bytes && !history.turns.empty()) {
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
                  "SELECT name AS number, target FROM names WHERE session = ?1 AND name >= ?2 AND "
                  "name < ?3 UNION ALL SELECT -name, target FROM names WHERE session = ?1 AND "
                  "name < 0 AND name <= -?2 ORDER BY 1",
                  session, from_number, kTurnNames);
  while (rows.size() < limit && names.next()) {
    const std::int64_t number = names.integer();
    const auto row = SqliteRows(database).find_turn(names.integer());
    if (!row) continue;
    const std::int64_t first_number = number_before_moves(database, row->turn);
    // Of one round the request was written before the answer.
    Statement found(database,
                    "SELECT id, 0 AS kind, events FROM requests WHERE id >= ?1 AND id < ?2 AND "
                    "events <> '' UNION ALL SELECT id, 1, events FROM answers WHERE id >= ?1 AND "
                    "id < ?2 AND events <> '' ORDER BY 1, 2",
                    row->turn.id * kRounds, (row->turn.id + 1) * kRounds);
    while (rows.size() < limit && found.next()) {
      found.skip();
      found.skip();
      rows.push_back({.number = number,
                      .turn_id = row->turn.turn_id,
                      .events = found.text(),
                      .first_number = first_number});
    }
  }
  return rows;
}

std::vector<TurnJournal::Overdue> overdue(Database& database, Milliseconds now, std::size_t limit) {
  std::vector<TurnJournal::Overdue> found;
  Statement rows(database,
                 "SELECT s.tenant, s.session_id, t.turn_id "
                 "FROM turns t INDEXED BY open_turns JOIN sessions s ON s.id = t.session "
                 "WHERE t.state < 2 AND t.state = 1 AND t.tool_deadline > 0 "
                 "AND t.tool_deadline < ? ORDER BY t.tool_deadline LIMIT ?",
                 now, static_cast<std::int64_t>(limit));
  while (rows.next()) {
    found.push_back(
        {.room = {.tenant = rows.text(), .session_id = rows.text()}, .turn_id = rows.text()});
  }
  return found;
}

void insert_session(Database& database, SessionRow& row, std::string_view initial_key) {
  Session& session = row.session;
  Statement(database,
            "INSERT INTO sessions (id, tenant, session_id, agent, conversation, opening_turn, "
            "initial_key, created_at, updated_at, turns, newest, last, context_at) "
            "VALUES (nullif(?, 0), ?, ?, ?, ?, ?, nullif(?, x''), ?, ?, 0, 0, 0, ?)",
            session.id, session.room.tenant, session.room.session_id, session.agent,
            session.conversation, session.opening_turn, Blob{initial_key}, session.created_at,
            session.updated_at, row.context_at)
      .run();
  session.id = database.last_row();
}

void update_session(Database& database, const SessionRow& row) {
  Statement(database,
            "UPDATE sessions SET agent = ?, conversation = ?, updated_at = ?, turns = ?, "
            "newest = ?, last = ?, context_at = ? WHERE id = ?",
            row.session.agent, row.session.conversation, row.session.updated_at, row.session.turns,
            row.newest, row.last, row.context_at, row.session.id)
      .run();
}

void insert_turn(Database& database, SessionRow& session, TurnRow& row) {
  Turn& turn = row.turn;
  turn.session = session.session.id;
  Statement(database,
            "INSERT INTO turns (session, number, state, owner, round, previous, tool_deadline, "
            "retryable, has_streamed, events, created_at, updated_at, turn_id, mode, error_code, "
            "pending) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            turn.session, turn.number, static_cast<int>(turn.state), row.owner, turn.round,
            row.previous, turn.tool_deadline, turn.retryable, turn.has_streamed, turn.events,
            turn.created_at, turn.updated_at, turn.turn_id, turn.mode, turn.error_code,
            turn.pending)
      .run();
  turn.id = database.last_row();
  write_name(database, turn.session, turn.number, turn.id);
  write_name(database, turn.session, kTurnNames + hash_of(turn.turn_id), turn.id);
  session.last = turn.id;
  session.newest = turn.id;
}

void update_turn(Database& database, const TurnRow& row) {
  const Turn& turn = row.turn;
  Statement(database,
            "UPDATE turns SET number = ?, state = ?, owner = ?, round = ?, previous = ?, "
            "tool_deadline = ?, retryable = ?, has_streamed = ?, events = ?, updated_at = ?, "
            "error_code = ?, pending = ? WHERE id = ?",
            turn.number, static_cast<int>(turn.state), row.owner, turn.round, row.previous,
            turn.tool_deadline, turn.retryable, turn.has_streamed, turn.events, turn.updated_at,
            turn.error_code, turn.pending, turn.id)
      .run();
}

void move_turn(Database& database, const Turn& turn, std::int64_t old_number) {
  Statement(database, "DELETE FROM names WHERE session = ? AND name = ? AND target = ?",
            turn.session, old_number, turn.id)
      .run();
  write_name(database, turn.session, -old_number, turn.id);
  write_name(database, turn.session, turn.number, turn.id);
}

void write_request(Database& database, const Turn& turn, const RequestRecord& request) {
  const std::int64_t id = id_of({.turn = turn.id, .round = request.round});
  Statement(database,
            R"(INSERT INTO requests (id, "key", fingerprint, dialect, streaming, events, body, )"
            "format) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            id, Blob{request.key}, Blob{request.fingerprint}, number_of(request.dialect),
            request.streaming, request.events, request.body, request.format)
      .run();
  write_name(database, turn.session, kKeyNames + hash_of(request.key), id);
}

void write_answer(Database& database, std::int64_t turn, const AnswerRecord& answer,
                  Milliseconds now) {
  Statement(database,
            "INSERT OR REPLACE INTO answers (id, dialect, first_event, created_at, error_code, "
            "events, body, transcript, deltas, format, result) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            id_of({.turn = turn, .round = answer.round}), number_of(answer.dialect),
            answer.first_event, answer.created_at != 0 ? answer.created_at : now, answer.error_code,
            answer.events, answer.body, answer.transcript, answer.deltas, answer.format,
            answer.result)
      .run();
}

void append_events(Database& database, const RoundPlace& place, std::string_view lines) {
  const std::int64_t id = id_of(place);
  Statement(database, "UPDATE answers SET events = events || ? WHERE id = ?", lines, id).run();
  if (database.changes() > 0) return;
  Statement(database, "UPDATE requests SET events = events || ? WHERE id = ?", lines, id).run();
}

void write_context(Database& database, std::int64_t session, std::int64_t number,
                   std::string_view context) {
  Statement(database, "INSERT OR REPLACE INTO contexts VALUES (?, ?, ?)", session, number, context)
      .run();
}

}  // namespace treaty::store::sqlite
