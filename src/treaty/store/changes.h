// How the journal changes: a decision reads a view and answers a change, both in one transaction.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "treaty/store/records.h"

namespace treaty::store {

// What a request names. All of it is looked up in the transaction that applies the change.
struct Lookup {
  Room room{};            // session_id empty: a request without ids; found by its key alone.
  std::string turn_id{};  // As the request names it; may be empty.
  std::string key{};      // RequestRecord::key; empty: not looked for.
};

struct View {
  std::optional<Session> session{};
  std::optional<Turn> named{};      // The turn of that TurnId.
  std::optional<Turn> newest{};     // The newest turn that is not dead.
  std::int64_t last_number = 0;     // The highest number of a turn, dead ones included.
  std::optional<Turn> same_turn{};  // A request with that key was part of this turn,
  std::optional<Round> same{};      // in this round.
  // Turn::id of one of these turns that is accepted although the process that ran it is gone:
  // it does not run until it is claimed (TurnJournal::claim_abandoned). 0: there is none.
  std::int64_t abandoned = 0;
};

struct NewSession {
  Room room{};
  std::string opening_turn{};
  std::string initial_key{};  // Of a request without ids: finds the session again.
};

// What a turn becomes. In a change: `conflict` unless leads_to() of planning.h allows the state.
struct TurnUpdate {
  TurnState state = TurnState::accepted;
  int round = 0;
  std::string pending{};
  Milliseconds tool_deadline = 0;
  std::string error_code{};
  bool retryable = false;
  std::int64_t events = 0;  // Turn::events from now on.
};

struct NewTurn {
  std::string turn_id{};
  std::string mode{};
};

// The parts that are there are applied together or not at all. An empty one writes nothing.
struct Change {
  std::optional<NewSession> open{};
  std::optional<std::string> agent{};  // Fixes agent and conversation, latches the context.
  std::optional<std::string> conversation{};
  std::optional<std::string> solution_context{};
  std::optional<NewTurn> begin{};  // A new turn, accepted; the request below is its round 0.
  std::int64_t turn = 0;           // Else the turn that `update`, `request`, `answer` belong to.
  std::optional<TurnUpdate> update{};
  std::optional<RequestRecord> request{};
  std::optional<AnswerRecord> answer{};  // Replaces the answer of the same round, if there is one.
  std::string events{};  // More diagnostics of the turn's newest round, with `update`.

  bool is_empty() const {
    return !open && !agent && !conversation && !solution_context && !begin && !update && !request &&
           !answer;
  }
};

// What a decision returns: the change that the store applies, and a value for the caller.
template <class T>
struct Proposal {
  Change change{};
  T value{};
};

// The rows that a change has touched, after it.
struct Applied {
  std::int64_t session = 0;
  std::int64_t turn = 0;
  std::int64_t number = 0;  // Of the turn.
};

// What the caller of a decision gets: the value and the rows of the run that was committed.
template <class T>
struct Decided {
  T value{};
  Applied applied{};
};

// A decision without its value: what implementations of the store run.
using ChangeFunction = std::function<Change(const View&)>;

// The end of a round that this process runs.
struct Settlement {
  std::int64_t turn = 0;
  TurnUpdate update{};
  AnswerRecord answer{};
};

}  // namespace treaty::store
