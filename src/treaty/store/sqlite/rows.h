// Rows as records, and the other way round. Every function belongs to the transaction of its
// caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "treaty/store/records.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

constexpr std::int64_t kRounds = 256;  // More than that do not fit into an id.

// What only the store knows of a session,
struct SessionRow {
  Session session{};
  std::int64_t newest = 0;
  std::int64_t last = 0;
  std::int64_t context_at = -1;
};

// and of a turn.
struct TurnRow {
  Turn turn{};
  std::int64_t owner = 0;
  std::int64_t previous = 0;
};

// How much of the rounds of a turn is wanted.
enum class Detail { all, conversation };  // The latter: no deltas, no diagnostics.

std::optional<SessionRow> find_session(Database& database, const Room& room);
std::optional<SessionRow> find_session(Database& database, std::int64_t id);
std::optional<SessionRow> find_initial(Database& database, std::string_view tenant,
                                       std::string_view key);

// The end of a turn writes no row of its session: without this, `updated_at` is the time of the
// last decision.
void count_last_turn(Database& database, SessionRow& row);

// Newest first; see SessionQuery. `updated_at` counts the ends of turns.
std::vector<Session> sessions_before(Database& database, const std::optional<std::string>& tenant,
                                     std::int64_t before, std::size_t limit);

std::optional<TurnRow> find_turn(Database& database, std::int64_t id);
std::optional<TurnRow> find_turn(Database& database, std::int64_t session,
                                 std::string_view turn_id);
std::optional<TurnRow> find_turn_numbered(Database& database, std::int64_t session,
                                          std::int64_t number);

// The id of the request with that key.
std::optional<std::int64_t> find_request(Database& database, std::int64_t session,
                                         std::string_view key);

std::optional<RequestRecord> read_request(Database& database, std::int64_t id, Detail detail);
std::optional<AnswerRecord> read_answer(Database& database, std::int64_t id, Detail detail);
std::vector<Round> read_rounds(Database& database, std::int64_t turn, Detail detail);

void update_turn(Database& database, const TurnRow& row);  // All that may change.
void write_request(Database& database, std::int64_t turn, const RequestRecord& request);
void write_answer(Database& database, std::int64_t turn, const AnswerRecord& answer);

// More diagnostics of the round of that id: behind those of its answer, or of its request when it
// has none yet.
void append_events(Database& database, std::int64_t id, std::string_view lines);
void append_events(Round& round, std::string_view lines);
void write_context(Database& database, std::int64_t session, std::int64_t number,
                   std::string_view context);

// Entries of `names`.
std::int64_t name_of_turn(std::string_view turn_id);
std::int64_t name_of_key(std::string_view key);
void write_name(Database& database, std::int64_t session, std::int64_t name, std::int64_t target);

}  // namespace treaty::store::sqlite
