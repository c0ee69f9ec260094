// The journal of turns: the answer of a round is written here before a client gets it.
//
// Every method may be called from any event loop and completes on the caller's loop, which must
// live until then. A write that has been answered is on the disk. A write that fails has changed
// nothing: a store that cannot know whether its commit succeeded finds out before it answers. An
// Error is `unavailable` (try again later), `not_found`, `conflict` or `corrupt`. Its message is
// for the operator; only `where` has paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "treaty/store/changes.h"
#include "treaty/store/records.h"
#include "treaty/store/task.h"

namespace treaty::store {

// An unfinished turn of a process that is gone, with its session and its newest round.
struct Abandoned {
  Session session{};
  TurnRecord record{};
};

struct SessionQuery {
  std::optional<std::string> tenant{};  // Absent: all of them.
  std::int64_t before = 0;              // Session::id of the last one seen; 0: from the newest.
  std::size_t limit = 100;
};

struct Pruned {
  std::int64_t sessions = 0;
  std::int64_t turns = 0;
};

// Diagnostics of one request or answer. A turn that has moved has them under each of its numbers:
// which line counts under which number is the engine's to know.
struct EventRow {
  std::int64_t number = 0;  // Of the turn, now or earlier.
  std::string turn_id{};
  std::string events{};           // A JSON object a line.
  std::int64_t first_number = 0;  // Of a turn that has moved: the number that it had first.
};

class TurnJournal {
 public:
  virtual ~TurnJournal() = default;

  // Looks up, decides and applies, in one durable transaction. `decision` is a function from
  // const View& to Proposal<T>. It runs on a thread of the store, may not wait or do I/O, and may
  // run more than once: only the value of the last run is returned, so it must not write to
  // anything outside itself.
  //
  //   const auto decided = co_await store.decide({room, turn_id, key}, [&](const View& view) {
  //     Proposal<bool> proposal{.value = view.named.has_value()};
  //     if (!view.named) proposal.change.begin = NewTurn{.turn_id = turn_id};
  //     return proposal;
  //   });
  //   if (!decided) co_return std::unexpected(decided.error());
  template <class Decision, class T = decltype(std::declval<Decision&>()(View()).value)>
  Task<Decided<T>> decide(Lookup lookup, Decision decision) {
    std::optional<T> value;
    const auto applied = co_await transact(std::move(lookup), [&](const View& view) {
      Proposal<T> proposal = decision(view);
      value.emplace(std::move(proposal.value));
      return std::move(proposal.change);
    });
    if (!applied) co_return std::unexpected(applied.error());
    co_return Decided<T>{*std::move(value), *applied};
  }

  // The same for a decision that has no value, only a change.
  virtual Task<Applied> transact(Lookup lookup, ChangeFunction decide) = 0;

  // Ends a round. `conflict` when the turn is not accepted any more or another process has it.
  virtual Task<void> settle(Settlement settlement) = 0;

  // Notes that deltas of the running round may leave, and adds `events` to its diagnostics. Does
  // nothing to a turn that has ended.
  virtual Task<void> mark_streamed(std::int64_t turn, std::string events) = 0;

  // Sessions without their solution context, which may be large: View::session has it, and so has
  // solution_context(), which is empty when there is none.
  virtual Task<std::optional<Session>> find_session(Room room) = 0;
  virtual Task<std::string> solution_context(std::int64_t session) = 0;
  virtual Task<std::vector<Session>> list_sessions(SessionQuery query) = 0;  // Newest first.

  virtual Task<std::optional<TurnRecord>> find_turn(Room room, std::string turn_id) = 0;
  // Without what they wait for.
  virtual Task<std::vector<Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                             std::size_t limit) = 0;

  // A page of the completed turns before `before_number`, newest first: the newest one, and as many
  // more as fit into `bytes` (requests and transcripts). `more`: there are older ones. Without
  // bodies of answers, deltas and diagnostics.
  struct History {
    std::vector<TurnRecord> turns{};
    bool more = false;
  };
  virtual Task<History> history(std::int64_t session, std::int64_t before_number,
                                std::size_t bytes) = 0;

  // Of turns from `from_number` on, in the order of their numbers and rounds.
  virtual Task<std::vector<EventRow>> events(std::int64_t session, std::int64_t from_number,
                                             std::size_t limit) = 0;

  // Takes over the unfinished turns of processes that are gone, or only the one with this Turn::id,
  // and returns them: at most kMostClaimed, since each comes with its request and other operations
  // wait meanwhile. Call it again until it returns none. What those processes had reserved counts
  // as spent. `diary` returns lines that are appended to the newest round of a turn; it runs on a
  // thread of the store.
  static constexpr std::size_t kMostClaimed = 16;
  using Diary = std::function<std::string(const Round& newest)>;
  virtual Task<std::vector<Abandoned>> claim_abandoned(Diary diary,
                                                       std::optional<std::int64_t> turn) = 0;

  // Turns that wait for tools beyond their deadline, at most `limit`.
  struct Overdue {
    Room room{};
    std::string turn_id{};
  };
  virtual Task<std::vector<Overdue>> overdue(Milliseconds now, std::size_t limit) = 0;

  // With the executions of machines that ran for its turns; those that still run are cancelled,
  // since whatever they write is refused. False when there is none. `conflict` while a process that
  // lives runs one of its turns. What was deleted is never seen again; delete_leftovers() makes
  // room on the disk.
  virtual Task<bool> delete_session(Room room) = 0;

  // What follows is done in small steps between which others can write. A session is never seen in
  // part: not meanwhile, and not after a crash.

  // Deletes the rows of sessions that were deleted, and those of branches and prunes that did not
  // come to their end. To be called after delete_session() and every now and then.
  virtual Task<void> delete_leftovers() = 0;

  // A new session `into` with copies of the completed turns of `from` up to `turn_id`, and the
  // solution context as it was then. `not_found` when there is no such turn, `conflict` when `into`
  // exists. Without the solution context.
  virtual Task<Session> branch(Room from, std::string turn_id, std::string into) = 0;

  // Deletes sessions that nothing was written to since `before`, except those with a running turn,
  // and those for which a machine runs.
  virtual Task<Pruned> prune(Milliseconds before, std::optional<std::string> tenant) = 0;

  // What prune would delete now.
  virtual Task<Pruned> prunable(Milliseconds before, std::optional<std::string> tenant) = 0;
};

}  // namespace treaty::store
