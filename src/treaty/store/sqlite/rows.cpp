#include "treaty/store/sqlite/rows.h"

#include <algorithm>

namespace treaty::store::sqlite {
namespace {

constexpr std::int64_t kTurnNames = std::int64_t{1} << 61;
constexpr std::int64_t kKeyNames = std::int64_t{1} << 62;

// FNV-1a: what it answers is on disk, so it is ours and does not change.
std::int64_t hash_of(std::string_view text) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  constexpr unsigned kDropped = 3;  // Room for the two marks above and the sign.
  std::uint64_t hash = kBasis;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  return static_cast<std::int64_t>(hash >> kDropped);
}

contracts::Dialect dialect_of(std::int64_t number) {
  return number == 0 ? contracts::Dialect::pascal : contracts::Dialect::camel;
}
int number_of(contracts::Dialect dialect) { return dialect == contracts::Dialect::pascal ? 0 : 1; }

std::string latched(Database& database, std::int64_t session, std::int64_t number) {
  if (number < 0) return {};
  Statement statement(database,
                      "SELECT solution_context FROM contexts WHERE session = ? AND number = ?",
                      session, number);
  return statement.next() ? statement.text() : std::string();
}

SessionRow read_session(Statement& statement) {
  SessionRow row;
  Session& session = row.session;
  session.id = statement.integer();
  session.room.tenant = statement.text();
  session.room.session_id = statement.text();
  session.agent = statement.text();
  session.conversation = statement.text();
  session.opening_turn = statement.text();
  session.created_at = statement.integer();
  session.updated_at = statement.integer();
  session.turns = statement.integer();
  row.newest = statement.integer();
  row.last = statement.integer();
  row.context_at = statement.integer();
  return row;
}

std::optional<SessionRow> only_session(Database& database, Statement& statement) {
  if (!statement.next()) return std::nullopt;
  SessionRow row = read_session(statement);
  row.session.solution_context = latched(database, row.session.id, row.context_at);
  return row;
}

TurnRow read_turn(Statement& statement) {
  TurnRow row;
  Turn& turn = row.turn;
  turn.id = statement.integer();
  turn.session = statement.integer();
  turn.number = statement.integer();
  turn.state = static_cast<TurnState>(statement.integer());
  row.owner = statement.integer();
  turn.round = static_cast<int>(statement.integer());
  row.previous = statement.integer();
  turn.tool_deadline = statement.integer();
  turn.retryable = statement.boolean();
  turn.has_streamed = statement.boolean();
  turn.events = statement.integer();
  turn.created_at = statement.integer();
  turn.updated_at = statement.integer();
  turn.turn_id = statement.text();
  turn.mode = statement.text();
  turn.error_code = statement.text();
  turn.pending = statement.text();
  return row;
}

}  // namespace

#define TREATY_SESSION_COLUMNS                                                                 \
  "SELECT id, tenant, session_id, agent, conversation, opening_turn, created_at, updated_at, " \
  "turns, newest, last, context_at FROM sessions "

std::optional<SessionRow> find_session(Database& database, const Room& room) {
  Statement statement(database, TREATY_SESSION_COLUMNS "WHERE tenant = ? AND session_id = ?",
                      room.tenant, room.session_id);
  return only_session(database, statement);
}

std::optional<SessionRow> find_session(Database& database, std::int64_t id) {
  Statement statement(database, TREATY_SESSION_COLUMNS "WHERE id = ?", id);
  return only_session(database, statement);
}

std::optional<SessionRow> find_initial(Database& database, std::string_view tenant,
                                       std::string_view key) {
  Statement statement(database, TREATY_SESSION_COLUMNS "WHERE tenant = ? AND initial_key = ?",
                      tenant, Blob{key});
  return only_session(database, statement);
}

void count_last_turn(Database& database, SessionRow& row) {
  if (row.last == 0) return;
  Statement statement(database, "SELECT updated_at FROM turns WHERE id = ?", row.last);
  if (statement.next()) {
    row.session.updated_at = std::max(row.session.updated_at, statement.integer());
  }
}

std::vector<Session> sessions_before(Database& database, const std::optional<std::string>& tenant,
                                     std::int64_t before, std::size_t limit) {
  const std::string of = tenant.value_or("");
  Statement statement(
      database,
      tenant ? TREATY_SESSION_COLUMNS "WHERE id < ? AND tenant = ? ORDER BY id DESC LIMIT ?"
             : TREATY_SESSION_COLUMNS "WHERE id < ? AND ? = '' ORDER BY id DESC LIMIT ?",
      before > 0 ? before : INT64_MAX, of, static_cast<std::int64_t>(limit));
  std::vector<Session> sessions;
  while (statement.next()) {
    SessionRow row = read_session(statement);
    row.session.solution_context = latched(database, row.session.id, row.context_at);
    count_last_turn(database, row);
    sessions.push_back(std::move(row.session));
  }
  return sessions;
}

std::optional<TurnRow> find_turn(Database& database, std::int64_t id) {
  if (id == 0) return std::nullopt;
  Statement statement(database,
                      "SELECT id, session, number, state, owner, round, previous, tool_deadline, "
                      "retryable, has_streamed, events, created_at, updated_at, turn_id, mode, "
                      "error_code, pending FROM turns WHERE id = ?",
                      id);
  if (!statement.next()) return std::nullopt;
  return read_turn(statement);
}

std::optional<TurnRow> find_turn(Database& database, std::int64_t session,
                                 std::string_view turn_id) {
  Statement names(database, "SELECT target FROM names WHERE session = ? AND name = ?", session,
                  name_of_turn(turn_id));
  while (names.next()) {
    auto row = find_turn(database, names.integer());
    if (row && row->turn.turn_id == turn_id) return row;
  }
  return std::nullopt;
}

std::optional<TurnRow> find_turn_numbered(Database& database, std::int64_t session,
                                          std::int64_t number) {
  Statement names(database, "SELECT target FROM names WHERE session = ? AND name = ?", session,
                  number);
  return names.next() ? find_turn(database, names.integer()) : std::nullopt;
}

std::optional<std::int64_t> find_request(Database& database, std::int64_t session,
                                         std::string_view key) {
  Statement names(database, "SELECT target FROM names WHERE session = ? AND name = ?", session,
                  name_of_key(key));
  while (names.next()) {
    const std::int64_t id = names.integer();
    Statement request(database, R"(SELECT "key" FROM requests WHERE id = ?)", id);
    if (request.next() && request.view() == key) return id;
  }
  return std::nullopt;
}

std::optional<RequestRecord> read_request(Database& database, std::int64_t id, Detail detail) {
  // All columns: an older version of the table, which is read as it is, has fewer.
  Statement statement(database, "SELECT * FROM requests WHERE id = ?", id);
  if (!statement.next()) return std::nullopt;
  statement.skip();
  RequestRecord request{.round = static_cast<int>(id % kRounds)};
  request.key = statement.text();
  request.fingerprint = statement.text();
  request.dialect = dialect_of(statement.integer());
  request.streaming = statement.boolean();
  const std::string_view events = statement.view();
  if (detail == Detail::all) request.events = events;
  request.body = statement.text();
  if (statement.has_column()) request.format = statement.text();
  return request;
}

std::optional<AnswerRecord> read_answer(Database& database, std::int64_t id, Detail detail) {
  Statement statement(database, "SELECT * FROM answers WHERE id = ?", id);
  if (!statement.next()) return std::nullopt;
  statement.skip();
  AnswerRecord answer{.round = static_cast<int>(id % kRounds)};
  answer.dialect = dialect_of(statement.integer());
  answer.first_event = statement.integer();
  answer.created_at = statement.integer();
  answer.error_code = statement.text();
  const std::string_view events = statement.view();
  answer.body = statement.text();
  answer.transcript = statement.text();
  if (detail == Detail::conversation) return answer;
  answer.events = events;
  answer.deltas = statement.text();
  if (!statement.has_column()) return answer;
  answer.format = statement.text();
  answer.result = statement.text();
  return answer;
}

std::vector<Round> read_rounds(Database& database, std::int64_t turn, Detail detail) {
  std::vector<Round> rounds;
  for (std::int64_t id = turn * kRounds; id < (turn + 1) * kRounds; ++id) {
    auto request = read_request(database, id, detail);
    if (!request) break;  // Rounds have no gaps.
    rounds.push_back({.request = *std::move(request), .answer = read_answer(database, id, detail)});
  }
  return rounds;
}

void update_turn(Database& database, const TurnRow& row) {
  const Turn& turn = row.turn;
  Statement(database,
            "UPDATE turns SET state = ?, owner = ?, round = ?, previous = ?, tool_deadline = ?, "
            "retryable = ?, has_streamed = ?, events = ?, updated_at = ?, error_code = ?, "
            "pending = ? WHERE id = ?",
            static_cast<int>(turn.state), row.owner, turn.round, row.previous, turn.tool_deadline,
            turn.retryable, turn.has_streamed, turn.events, turn.updated_at, turn.error_code,
            turn.pending, turn.id)
      .run();
}

void write_request(Database& database, std::int64_t turn, const RequestRecord& request) {
  Statement(database,
            R"(INSERT INTO requests (id, "key", fingerprint, dialect, streaming, events, body, )"
            "format) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            turn * kRounds + request.round, Blob{request.key}, Blob{request.fingerprint},
            number_of(request.dialect), request.streaming, request.events, request.body,
            request.format)
      .run();
}

void write_answer(Database& database, std::int64_t turn, const AnswerRecord& answer) {
  Statement(database,
            "INSERT OR REPLACE INTO answers (id, dialect, first_event, created_at, error_code, "
            "events, body, transcript, deltas, format, result) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            turn * kRounds + answer.round, number_of(answer.dialect), answer.first_event,
            answer.created_at, answer.error_code, answer.events, answer.body, answer.transcript,
            answer.deltas, answer.format, answer.result)
      .run();
}

void append_events(Database& database, std::int64_t id, std::string_view lines) {
  Statement(database, "UPDATE answers SET events = events || ? WHERE id = ?", lines, id).run();
  if (database.changes() > 0) return;
  Statement(database, "UPDATE requests SET events = events || ? WHERE id = ?", lines, id).run();
}

void write_context(Database& database, std::int64_t session, std::int64_t number,
                   std::string_view context) {
  Statement(database, "INSERT OR REPLACE INTO contexts VALUES (?, ?, ?)", session, number, context)
      .run();
}

std::int64_t name_of_turn(std::string_view turn_id) { return kTurnNames + hash_of(turn_id); }

std::int64_t name_of_key(std::string_view key) { return kKeyNames + hash_of(key); }

void write_name(Database& database, std::int64_t session, std::int64_t name, std::int64_t target) {
  Statement(database, "INSERT INTO names VALUES (?, ?, ?)", session, name, target).run();
}

std::optional<SessionRow> SqliteRows::find_session(const Room& room) {
  return sqlite::find_session(database_, room);
}

std::optional<SessionRow> SqliteRows::find_session(std::int64_t id) {
  return sqlite::find_session(database_, id);
}

std::optional<SessionRow> SqliteRows::find_initial(std::string_view tenant, std::string_view key) {
  return sqlite::find_initial(database_, tenant, key);
}

std::optional<TurnRow> SqliteRows::find_turn(std::int64_t id) {
  return sqlite::find_turn(database_, id);
}

std::optional<TurnRow> SqliteRows::find_turn(std::int64_t session, std::string_view turn_id) {
  return sqlite::find_turn(database_, session, turn_id);
}

std::optional<RoundPlace> SqliteRows::find_request(std::int64_t session, std::string_view key) {
  const auto id = sqlite::find_request(database_, session, key);
  if (!id) return std::nullopt;
  return RoundPlace{.turn = *id / kRounds, .round = static_cast<int>(*id % kRounds)};
}

std::optional<Round> SqliteRows::read_round(const RoundPlace& place) {
  const std::int64_t id = place.turn * kRounds + place.round;
  auto request = read_request(database_, id, Detail::all);
  if (!request) return std::nullopt;
  return Round{.request = *std::move(request), .answer = read_answer(database_, id, Detail::all)};
}

}  // namespace treaty::store::sqlite
