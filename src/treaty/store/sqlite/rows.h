// Rows as records, and the other way round, and the queries of the journal. Every function belongs
// to the transaction of its caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/journal.h"
#include "treaty/store/planning.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

// Whether sessions are read with the context that they have latched, which may be large.
enum class Contexts { read, left_out };

// The rows of the journal, as planning.h reads them.
class SqliteRows final : public JournalRows {
 public:
  explicit SqliteRows(Database& database, Contexts contexts = Contexts::read)
      : database_(database), contexts_(contexts) {}

  std::optional<SessionRow> find_session(const Room& room) override;
  std::optional<SessionRow> find_session(std::int64_t id) override;
  std::optional<SessionRow> find_initial(std::string_view tenant, std::string_view key) override;
  std::optional<TurnRow> find_turn(std::int64_t id) override;
  std::optional<TurnRow> find_turn(std::int64_t session, std::string_view turn_id) override;
  std::optional<RoundPlace> find_request(std::int64_t session, std::string_view key) override;
  std::optional<Round> read_round(const RoundPlace& place) override;

 private:
  Database& database_;
  Contexts contexts_;
};

// How much of the rounds of a turn is wanted.
enum class Detail { all, conversation };  // The latter: no deltas, no diagnostics.

std::vector<Round> read_rounds(Database& database, std::int64_t turn, Detail detail = Detail::all);
std::optional<Round> read_round(Database& database, const RoundPlace& place,
                                Detail detail = Detail::all);

// --- Queries. As the methods of TurnJournal that have these names.

std::optional<Session> find_session(Database& database, const Room& room);
bool has_session(Database& database, std::int64_t session);
std::string solution_context(Database& database, std::int64_t session);
std::vector<Session> list_sessions(Database& database, const SessionQuery& query);
std::optional<TurnRecord> find_turn(Database& database, const Room& room,
                                    const std::string& turn_id);
std::vector<Turn> list_turns(Database& database, std::int64_t session, std::int64_t after_number,
                             std::size_t limit);
TurnJournal::History history(Database& database, std::int64_t session, std::int64_t before_number,
                             std::size_t bytes);
std::vector<EventRow> events(Database& database, std::int64_t session, std::int64_t from_number,
                             std::size_t limit);
std::vector<TurnJournal::Overdue> overdue(Database& database, Milliseconds now, std::size_t limit);

// The end of a turn writes no row of its session: with this, `updated_at` counts it.
Session with_last_turn(Database& database, SessionRow row);

// --- Writes

// Fills in the id, unless it has one.
void insert_session(Database& database, SessionRow& row, std::string_view initial_key = {});
void update_session(Database& database, const SessionRow& row);

// Appends the turn to the session, whose newest and last turn it becomes; fills in its ids.
void insert_turn(Database& database, SessionRow& session, TurnRow& row);
void update_turn(Database& database, const TurnRow& row);  // All that may change.

// The turn has a new number; events() finds it under the old one, too.
void move_turn(Database& database, const Turn& turn, std::int64_t old_number);

void write_request(Database& database, const Turn& turn, const RequestRecord& request);
// `now` is the time of an answer that has none.
void write_answer(Database& database, std::int64_t turn, const AnswerRecord& answer,
                  Milliseconds now);

// More diagnostics of a round: behind those of its answer, or of its request when it has none yet.
void append_events(Database& database, const RoundPlace& place, std::string_view lines);
void write_context(Database& database, std::int64_t session, std::int64_t number,
                   std::string_view context);

}  // namespace treaty::store::sqlite
