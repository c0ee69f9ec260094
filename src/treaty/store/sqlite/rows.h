// Rows as records, and the other way round. Every function belongs to the transaction of its
// caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "treaty/store/planning.h"
#include "treaty/store/records.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

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

// The rows of the journal, as planning.h reads them.
class SqliteRows final : public JournalRows {
 public:
  explicit SqliteRows(Database& database) : database_(database) {}

  std::optional<SessionRow> find_session(const Room& room) override;
  std::optional<SessionRow> find_session(std::int64_t id) override;
  std::optional<SessionRow> find_initial(std::string_view tenant, std::string_view key) override;
  std::optional<TurnRow> find_turn(std::int64_t id) override;
  std::optional<TurnRow> find_turn(std::int64_t session, std::string_view turn_id) override;
  std::optional<RoundPlace> find_request(std::int64_t session, std::string_view key) override;
  std::optional<Round> read_round(const RoundPlace& place) override;

 private:
  Database& database_;
};

std::optional<RequestRecord> read_request(Database& database, std::int64_t id, Detail detail);
std::optional<AnswerRecord> read_answer(Database& database, std::int64_t id, Detail detail);
std::vector<Round> read_rounds(Database& database, std::int64_t turn, Detail detail);

void update_turn(Database& database, const TurnRow& row);  // All that may change.
void write_request(Database& database, std::int64_t turn, const RequestRecord& request);
void write_answer(Database& database, std::int64_t turn, const AnswerRecord& answer);

// More diagnostics of the round of that id: behind those of its answer, or of its request when it
// has none yet.
void append_events(Database& database, std::int64_t id, std::string_view lines);
void write_context(Database& database, std::int64_t session, std::int64_t number,
                   std::string_view context);

// Entries of `names`.
std::int64_t name_of_turn(std::string_view turn_id);
std::int64_t name_of_key(std::string_view key);
void write_name(Database& database, std::int64_t session, std::int64_t name, std::int64_t target);

}  // namespace treaty::store::sqlite
