// The rules of the journal, whatever database keeps it: which view a decision gets, whether a
// change may be applied, and which rows it leaves behind. Nothing here writes: a store reads rows
// through JournalRows and executes the plan inside the same transaction.
//
//   const Found found = look_up(rows, lookup, is_gone);
//   const Change change = decide(found.view);
//   TREATY_TRY(ChangePlan plan, plan_change(rows, lookup, found, change, {owner, now}));
//   // INSERT plan.session if plan.opens, with change.open->initial_key.
//   // Write change.solution_context if plan.latches, under plan.session.context_at.
//   // INSERT or UPDATE plan.turn, then UPDATE plan.session. events() finds a turn that has moved
//   // under plan.moved_from, too.
//   // INSERT change.request. INSERT or REPLACE change.answer.
//   // Append change.events to the newest round.
//
// Settlements are not planned: a store updates the turn only if it is accepted and its own, and
// sets SessionRow::newest by newest_living() if the turn died.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/store/changes.h"
#include "treaty/store/records.h"

namespace treaty::store {

constexpr std::int64_t kRounds = 256;  // The most rounds of a turn.

// A session with what only the store knows of it.
struct SessionRow {
  Session session{};
  std::int64_t newest = 0;       // The newest turn that is not dead.
  std::int64_t last = 0;         // The turn with the highest number.
  std::int64_t context_at = -1;  // The number of the turn that latched the context; -1: none did.
};

struct TurnRow {
  Turn turn{};
  std::int64_t owner = 0;     // The process that runs it.
  std::int64_t previous = 0;  // The newest living turn when it began.
};

// Where a request stands.
struct RoundPlace {
  std::int64_t turn = 0;
  int round = 0;
};

// What the rules read, inside a transaction. On a read error an implementation returns
// nothing and makes the transaction fail.
class JournalRows {
 public:
  virtual ~JournalRows() = default;
  virtual std::optional<SessionRow> find_session(const Room& room) = 0;
  virtual std::optional<SessionRow> find_session(std::int64_t id) = 0;
  virtual std::optional<SessionRow> find_initial(std::string_view tenant, std::string_view key) = 0;
  virtual std::optional<TurnRow> find_turn(std::int64_t id) = 0;  // Nothing for 0.
  virtual std::optional<TurnRow> find_turn(std::int64_t session, std::string_view turn_id) = 0;
  virtual std::optional<RoundPlace> find_request(std::int64_t session, std::string_view key) = 0;
  virtual std::optional<Round> read_round(const RoundPlace& place) = 0;
};

// Who writes, and when.
struct WriterIdentity {
  std::int64_t owner = 0;  // 0: this process runs no turns.
  Milliseconds now = 0;
};

struct Found {
  std::optional<SessionRow> session{};
  View view{};
};
using IsGone = std::function<bool(std::int64_t owner)>;  // Whether no process of that number lives.
Found look_up(JournalRows& rows, const Lookup& lookup, const IsGone& is_gone);

// What a change comes to: the rows as they are after it. Ids of new rows are 0; the store fills
// them in, together with `turn.session`, `session.newest` and `session.last` of a turn that begins.
struct ChangePlan {
  enum class Write : std::uint8_t { none, insert, update };
  SessionRow session{};
  bool opens = false;            // INSERT the session first.
  bool updates_session = false;  // UPDATE the session after the turn.
  bool latches = false;          // Write the context: it is not the one that is latched already.
  TurnRow turn{};
  Write turn_write = Write::none;
  std::int64_t moved_from = 0;  // The number of the turn before it moved; 0: it keeps its own.
};

// `conflict` when the change does not fit to what is there.
std::expected<ChangePlan, Error> plan_change(JournalRows& rows, const Lookup& lookup,
                                             const Found& found, const Change& change,
                                             const WriterIdentity& writer);

// Whether a change may move the turn to that state. Settlements have check_settlement().
bool leads_to(const Turn& turn, TurnState state);

// `conflict` for a settlement that does not end a round.
std::expected<void, Error> check_settlement(const Settlement& settlement);

// What the turn becomes by an update.
void apply_update(Turn& turn, const TurnUpdate& update, Milliseconds now);

// That turn, or the newest one before it that is not dead; 0 when there is none.
std::int64_t newest_living(JournalRows& rows, std::int64_t turn);

bool has_running(const std::vector<Turn>& turns);

// The same without turns whose process is gone.
bool has_running(JournalRows& rows, const std::vector<Turn>& turns, const IsGone& is_gone);

// Whether prune deletes this session. `updated_at` includes the end of its last turn.
bool is_prunable(const Session& session, const std::vector<Turn>& turns, Milliseconds before);

// The bytes that a turn takes of a page of history: its requests and transcripts.
std::size_t history_size(const std::vector<Round>& rounds);

void append_events(Round& round, std::string_view lines);

// --- Branches

struct BranchPlan {
  std::int64_t source = 0;       // The session to copy from,
  std::int64_t last_number = 0;  // turns up to this number,
  SessionRow session{};          // into this new one, whose times are still to be filled in.
};
std::expected<BranchPlan, Error> plan_branch(JournalRows& rows, const Room& from,
                                             const std::string& turn_id, const std::string& into);

// Whether a branch has a copy of the turn.
bool is_branched(const Turn& turn);

// The copy of a turn as the next turn of the branch, which nobody runs. Its id is 0.
TurnRow copy_for_branch(const Turn& turn, SessionRow& branch);

// The body of an answer as the copy in another session has it: the members that name the session,
// in either spelling, name `into` instead of `from`. No other byte changes.
std::string renamed_body(std::string body, const Room& from, const Room& into);

Error conflict(std::string message);

}  // namespace treaty::store
