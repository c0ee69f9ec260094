// The rows of a journal, of budgets and of quota pools in memory, changed by the rules in
// planning.h and grants.h. Belongs to one thread at a time: whoever shares it locks it.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "treaty/store/grants.h"
#include "treaty/store/journal.h"
#include "treaty/store/planning.h"
#include "treaty/store/pools.h"

namespace treaty::store {

class MemoryTables final : public JournalRows {
 public:
  using Texts = std::vector<std::string>;

  // --- Owners: everybody who opens the tables to run turns.
  std::int64_t sign_on();
  void sign_off(std::int64_t owner);  // What it has reserved is spent.

  // --- Turns. As the methods of TurnJournal that have these names.
  std::expected<Applied, Error> transact(const Lookup& lookup, const ChangeFunction& decide,
                                         const WriterIdentity& writer);
  std::expected<void, Error> settle(Settlement settlement, const WriterIdentity& writer);
  void mark_streamed(std::int64_t turn, std::string_view events, const WriterIdentity& writer);
  std::vector<Abandoned> claim_abandoned(const TurnJournal::Diary& diary,
                                         std::optional<std::int64_t> only,
                                         const WriterIdentity& writer);
  std::expected<bool, Error> delete_session(const Room& room);
  std::expected<Session, Error> branch(const Room& from, const std::string& turn_id,
                                       const std::string& into, const WriterIdentity& writer);
  // `busy`: sessions for which a machine runs.
  Pruned prune(Milliseconds before, const std::optional<std::string>& tenant,
               const std::set<std::int64_t>& busy, bool only_count);
  bool is_deleted(std::int64_t session) const;

  std::optional<Session> session(const Room& room);
  std::string solution_context(std::int64_t session) const;
  std::vector<Session> list_sessions(const SessionQuery& query);
  std::optional<TurnRecord> record(const Room& room, std::string_view turn_id);
  std::vector<Turn> list_turns(std::int64_t session, std::int64_t after_number, std::size_t limit);
  TurnJournal::History history(std::int64_t session, std::int64_t before_number, std::size_t bytes);
  std::vector<EventRow> events(std::int64_t session, std::int64_t from_number, std::size_t limit);
  std::vector<TurnJournal::Overdue> overdue(Milliseconds now, std::size_t limit);

  // --- Budgets and pools. As the methods of BudgetStore and PoolStore.
  Reserved reserve(const Purchase& purchase, const WriterIdentity& writer);
  std::expected<void, Error> settle_reservation(std::int64_t id, const Amount& spent,
                                                const WriterIdentity& writer);
  std::vector<Spending> spending(std::int64_t day) const;
  void save_pools(std::vector<PoolRecord> pools, Milliseconds now);
  std::vector<PoolRecord> pools() const;

  // --- What the rules read.
  std::optional<SessionRow> find_session(const Room& room) override;
  std::optional<SessionRow> find_session(std::int64_t id) override;
  std::optional<SessionRow> find_initial(std::string_view tenant, std::string_view key) override;
  std::optional<TurnRow> find_turn(std::int64_t id) override;
  std::optional<TurnRow> find_turn(std::int64_t session, std::string_view turn_id) override;
  std::optional<RoundPlace> find_request(std::int64_t session, std::string_view key) override;
  std::optional<Round> read_round(const RoundPlace& place) override;

 private:
  struct StoredSession {
    SessionRow row{};
    std::string initial_key{};
    std::map<std::int64_t, std::string> contexts{};  // By the number of the turn that latched them.
    std::vector<std::int64_t> turns{};               // In the order of their numbers.
    std::map<std::int64_t, std::int64_t> moved{};    // By the numbers that turns had once.
  };
  struct StoredTurn {
    TurnRow row{};
    std::map<int, RequestRecord> requests{};  // By round.
    std::map<int, AnswerRecord> answers{};
  };
  struct OpenReservation {
    std::int64_t owner = 0;
    std::int64_t day = 0;
    std::map<std::string, Amount> shares{};  // By scope.
  };
  struct StoredPool {
    std::string state{};
    Milliseconds saved_at = 0;
  };

  Applied execute(const Change& change, ChangePlan& plan, const WriterIdentity& writer);
  std::int64_t insert_turn(StoredSession& session, StoredTurn turn);
  void copy_turn(const StoredTurn& turn, const Room& from, StoredSession& into);
  SessionRow row_of(const StoredSession& session) const;
  Session with_last_turn(const StoredSession& session) const;
  std::vector<Turn> turns_of(const StoredSession& session) const;
  std::vector<Round> rounds_of(const StoredTurn& turn) const;
  void append_events(StoredTurn& turn, int round, std::string_view lines);
  void erase(std::int64_t session);

  std::vector<BudgetAccount> accounts_of(const Purchase& purchase) const;
  DaySums& sums_of(std::int64_t day, const std::string& scope);
  bool spend_abandoned(std::int64_t owner);
  void spend_all_of(std::int64_t owner);
  void spend_reservation(std::int64_t id, const std::optional<Amount>& spent);

  std::int64_t last_owner_ = 0;
  std::set<std::int64_t> owners_{};  // Those that live.
  std::int64_t last_session_ = 0;
  std::map<std::int64_t, StoredSession> sessions_{};
  std::map<std::pair<std::string, std::string>, std::int64_t> rooms_{};
  std::int64_t last_turn_ = 0;
  std::map<std::int64_t, StoredTurn> turns_{};
  std::map<std::pair<std::int64_t, std::string>, DaySums> sums_{};  // By day and scope.
  std::int64_t last_reservation_ = 0;
  std::map<std::int64_t, OpenReservation> reservations_{};
  std::map<std::string, StoredPool> pools_{};
};

}  // namespace treaty::store
