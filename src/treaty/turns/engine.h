// The turn engine: finds the turn that a request means, journals it, runs it on the agent's
// backends, journals the answer, and only then tells it. ARCHITECTURE.md, "The life of a turn", has
// the steps.
//
// One engine serves all workers. Methods take the worker whose loop they run on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "treaty/base/offload_pool.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/store/store.h"
#include "treaty/turns/decision.h"
#include "treaty/turns/diary.h"
#include "treaty/turns/renderer.h"
#include "treaty/turns/running_turns.h"
#include "treaty/turns/settings.h"
#include "treaty/turns/turn_log.h"

namespace treaty::turns {

// What belongs to one event loop: its backends, and the settings they were made from. A reload
// replaces both together, on the loop's own thread.
struct Worker {
  boost::asio::any_io_executor executor;
  std::shared_ptr<const Settings> settings;
  std::shared_ptr<dispatch::Dispatcher> dispatcher;
  OffloadPool* pool = nullptr;  // For large requests and answers; none: the event loop has them.

  // What `work` returns. Work on many bytes does not block the event loop, unless the pool is full:
  // then it does, rather than that a turn fails.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> beside_the_loop(std::size_t bytes,
                                                                      Work work) const {
    if (bytes > kManyBytes && pool != nullptr) {
      if (auto result = co_await pool->run(work)) co_return *std::move(result);
    }
    co_return work();
  }
};

// A request that keeps its contract, and what came with it.
struct Submission {
  std::string tenant;
  contracts::AgentExecuteRequest request;  // Both ids empty: a first request (sessions.initial).
  const Renderer* renderer = nullptr;      // Writes the answer; that of the route's family.
  std::vector<AnswerError> warnings{};     // For the answer.
  std::optional<std::string> idempotency_key{};
  std::string trace_id{};  // Trace id taken from traceparent; empty if there was none.
  bool streams = false;    // The answer is wanted in pieces, whatever the request itself says.
};

// The submission with its canonical form and its fingerprint. Takes long when the request is large.
// For any thread.
TurnRequest prepare(Submission submission, store::Milliseconds now);

struct OpenedSession {
  std::string session_id{};
  std::string turn_id{};
};

template <class T>
using Answered = boost::asio::awaitable<std::expected<T, Refusal>>;

struct RunOrder;
struct RunServices;

class Engine {
 public:
  // The store outlives the engine. `renderers` are those of all families of routes, for requests
  // and answers that are found in the journal; the first one also reads rows
  // without a format (store version 3 and older).
  // `report` gets lines for the operator.
  Engine(store::Store& store, std::shared_ptr<Clock> clock, std::vector<const Renderer*> renderers,
         std::function<void(const std::string&)> report = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns the log of a round: of a new one, of the running one that the request joins, or one
  // that is filled from the journal. If another process runs the round, the log stays empty until
  // the round has ended. A refused request has a log that has ended and has no opening.
  // The round goes on whether or not anybody follows it.
  boost::asio::awaitable<std::shared_ptr<TurnLog>> execute(Worker& worker, TurnRequest asked);
  boost::asio::awaitable<std::shared_ptr<TurnLog>> execute(Worker& worker, Submission submission);

  // A new session, and its opening TurnId. Empty agent: fixed by the first turn.
  Answered<OpenedSession> open_session(Worker& worker, std::string tenant, std::string agent,
                                       std::string conversation);

  // A new session that goes on from a turn of another; empty turn_id: from its newest.
  Answered<OpenedSession> branch(Worker& worker, store::Room room, std::string turn_id);

  // Ends a running or waiting turn; its state afterwards. A turn that has ended stays as it is.
  Answered<store::TurnState> cancel(Worker& worker, store::Room room, std::string turn_id);

  // The log of the round that holds the first event after `last_id`, live or from the journal.
  // Without `last_id`: of the newest round. If another process runs it, the log stays empty until
  // the round has ended. Null: no event follows.
  Answered<std::shared_ptr<TurnLog>> follow(Worker& worker, store::Room room, std::string turn_id,
                                            std::optional<std::int64_t> last_id);

  // The diary of a session after the event `last_id`; waits up to `patience` for the first entry.
  Answered<std::vector<DiaryEvent>> events(Worker& worker, store::Room room, std::int64_t last_id,
                                           std::chrono::milliseconds patience);

  // Notifies when the diary of the session with this Session::id grows. Many clients can wait for
  // it.
  std::shared_ptr<Notifier> diary_notifier(std::int64_t session);

  // Claims turns of processes that are gone and runs their newest rounds again; one that has
  // streamed fails instead, retryable, and so does one whose request cannot be read, for good.
  // Called before anybody is served, every now and then, and when a request meets such a turn: then
  // for that turn alone, since a process that runs one turn does not live to run the others.
  // Returns how many.
  boost::asio::awaitable<std::expected<std::size_t, Error>> recover(
      Worker& worker, std::optional<std::int64_t> turn = {});

  // Ends turns whose tools did not answer in time. To be called every now and then.
  boost::asio::awaitable<void> expire_overdue(Worker& worker);

  // Turns that run now, in this process.
  std::size_t running() const;

  store::Store& store();
  store::Milliseconds now() const;

 private:
  // A request that did not join another one of this process.
  struct Arrival {
    TurnRequest asked;
    std::string key;  // Among all requests of this process.
    std::shared_ptr<TurnLog> log;
    std::shared_ptr<const Settings> settings;
    std::shared_ptr<dispatch::Dispatcher> dispatcher;
  };

  // A round that another process runs, and the request that waits for its end.
  struct DistantRound {
    store::Room room;
    store::Turn turn;
    std::string key;  // live_key() of the request; empty if clients only follow the turn.
    const Renderer* renderer = nullptr;
    contracts::Dialect dialect = contracts::Dialect::pascal;
  };

  // As TurnJournal::decide(), after turns of processes that are gone have been recovered: a
  // decision never sees one.
  template <class Decision, class T>
  store::Task<store::Decided<T>> decide_recovered(Worker& worker, store::Lookup lookup,
                                                  Decision decision);
  boost::asio::awaitable<TurnVerdict> decide_turn(Worker& worker, Arrival& arrival);
  void act_on(Worker& worker, TurnVerdict verdict, Arrival arrival);
  std::shared_ptr<TurnLog> follow_other_process(Worker& worker, store::Room room,
                                                const store::Turn& turn);
  boost::asio::awaitable<void> await_end(Worker& worker, DistantRound round,
                                         std::weak_ptr<TurnLog> followed);
  using RoundEnd = std::expected<store::TurnRecord, Refusal>;
  store::Task<std::optional<RoundEnd>> look_at_end(const DistantRound& round);
  store::Task<void> recover_turn(Worker& worker, std::int64_t turn);
  boost::asio::awaitable<void> resume(Worker& worker, store::Abandoned abandoned);
  Answered<store::TurnState> end_turn(Worker& worker, store::Room room, std::string turn_id,
                                      store::TurnState state, store::Milliseconds at);
  Answered<std::vector<DiaryEvent>> events_now(std::int64_t session, std::int64_t last_id);
  void start(Worker& worker, RunningTurns::Request request, RunOrder order);

  std::shared_ptr<RunServices> shared_;
};

}  // namespace treaty::turns
