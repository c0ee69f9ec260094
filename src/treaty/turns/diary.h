// The diary of one round: diagnostics for GET …/events. Entries ride on the round's next durable
// write; until then they are read from here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/mutex.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/store/journal.h"

namespace treaty::turns {

// One entry of a session's diary.
struct DiaryEvent {
  std::int64_t id = 0;  // Counts up within the session.
  std::string kind{};   // "turn.accepted", "attempt.failed"…
  std::string data{};   // A JSON object.
};

// Ids are made of the turn's number and the entry's index in the turn, so that they need no counter
// of their own. A round has room for kEventsPerRound of them: the first is its request's, the last
// the end of its waiting. A run that goes on after a crash begins with the next kEventsPerRun:
// nobody knows how many entries of the run before it were seen. A turn that runs again after later
// turns has a new number (store::Turn): each entry counts under the number that the turn had then.
constexpr std::int64_t kEventsPerTurn = 1'000'000'000;
constexpr std::int64_t kEventsPerRound = 1'000'000;
constexpr std::int64_t kEventsPerRun = 10'000;

// The place of an entry in a session.
struct EventPlace {
  std::int64_t number = 0;  // Of its turn; 0: the first one that the turn has.
  std::int64_t index = 0;   // In the turn.
};

// One line of the journal: an object with its place, kind, time and data.
std::string event_line(EventPlace place, std::string_view kind, store::Milliseconds at,
                       std::string_view data);

// The last entry that is journalled of a round.
EventPlace last_place(const store::Round& round);

// "turn.recovered", for a round that was abandoned.
std::string recovery_line(const store::Round& round, store::Milliseconds at);

// "turn.expired", "turn.cancelled": the end of a turn that waited.
// `round` is that which ended.
std::string end_line(const store::Turn& turn, int round, store::TurnState state,
                     store::Milliseconds at, std::string_view error_code);

// The entries of journalled lines that count under the number of the row.
std::vector<DiaryEvent> events_of(const store::EventRow& row);

// What dispatch does, as the data of an entry.
std::string backend_data(const dispatch::Choice& choice);
std::string started_data(const dispatch::Choice& choice, int attempt);
std::string ended_data(const dispatch::Choice& choice, int attempt, dispatch::Seconds took,
                       const contracts::AgentResult& result);
std::string waiting_data(const dispatch::Choice& choice, dispatch::Seconds wait,
                         const dispatch::Why& why);
std::string why_data(const dispatch::Choice& choice, const dispatch::Why& why);
std::string switched_data(const dispatch::Choice& from, const dispatch::Choice& to,
                          const dispatch::Why& why);

// Written by the turn's coroutine, read from any thread.
class Diary {
 public:
  // `earlier`: lines of attempts at the same round before this one, which are journalled. Continues
  // after the entry with the index `after`.
  Diary(const store::Turn& turn, std::string earlier, std::int64_t after);

  void add(std::string_view kind, store::Milliseconds at, std::string_view data);

  // The lines for the next write of the journal, with the earlier ones of its place,
  std::string lines() const;
  // or those so far, which are added to what is journalled: lines() leaves them out from now on,
  // unless it has earlier ones, which it replaces together with them.
  std::string take_lines();
  void give_back_lines();                                     // They could not be written.
  std::vector<DiaryEvent> after(std::int64_t last_id) const;  // Without the earlier ones.

 private:
  const std::int64_t turn_number_;
  const std::string turn_id_;
  const std::string earlier_;
  std::int64_t next_index_ TREATY_GUARDED_BY(mutex_);
  mutable Mutex mutex_;
  std::string lines_ TREATY_GUARDED_BY(mutex_);
  std::size_t taken_ TREATY_GUARDED_BY(mutex_) = 0;  // Bytes of them.
};

}  // namespace treaty::turns
