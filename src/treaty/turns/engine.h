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
#include <vector>

#include "treaty/contracts/agent_execute_request.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/store/store.h"
#include "treaty/turns/decision.h"
#include "treaty/turns/diary.h"
#include "treaty/turns/renderer.h"
#include "treaty/turns/settings.h"
#include "treaty/turns/turn_log.h"

namespace treaty::turns {

// What belongs to one event loop: its backends, and the settings they were made from. A reload
// replaces both together, on the loop's own thread.
struct Worker {
  boost::asio::any_io_executor executor;
  std::shared_ptr<const Settings> settings;
  std::shared_ptr<dispatch::Dispatcher> dispatcher;
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
  Engine(store::Store& store, std::shared_ptr<Clock> clock, std::vector<const Renderer*> renderers);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns the log of a round: of a new one, of the running one that the request joins, or one
  // that is filled from the journal. A refused request has a log that has ended and has no opening.
  // The round goes on whether or not anybody follows it.
  boost::asio::awaitable<std::shared_ptr<TurnLog>> execute(Worker& worker, Submission submission);

  // A new session, and its opening TurnId. Empty agent: fixed by the first turn.
  Answered<OpenedSession> open_session(Worker& worker, std::string tenant, std::string agent,
                                       std::string conversation);

  // A new session that goes on from a turn of another; empty turn_id: from its newest.
  Answered<OpenedSession> branch(Worker& worker, store::Room room, std::string turn_id);

  // Ends a running or waiting turn; its state afterwards. A turn that has ended stays as it is.
  Answered<store::TurnState> cancel(Worker& worker, store::Room room, std::string turn_id);

  // The log of the round that holds the first event after `last_id`, live or from the journal.
  // Without `last_id`: of the newest round. Null: no event follows.
  Answered<std::shared_ptr<TurnLog>> follow(Worker& worker, store::Room room, std::string turn_id,
                                            std::optional<std::int64_t> last_id);

  // The diary of a session after the event `last_id`; waits up to `patience` for the first entry.
  Answered<std::vector<DiaryEvent>> events(Worker& worker, store::Room room, std::int64_t last_id,
                                           std::chrono::milliseconds patience);

  // Notifies when the diary of the session with this Session::id grows. Many clients can wait for
  // it.
  std::shared_ptr<Notifier> diary_notifier(std::int64_t session);

  // Claims turns of processes that are gone and runs their newest rounds again; one that has
  // streamed fails instead, retryable. Called before anybody is served, and while a request waits
  // for a turn of another process. Returns how many.
  boost::asio::awaitable<std::expected<std::size_t, Error>> recover(Worker& worker);

  // Ends turns whose tools did not answer in time. To be called every now and then.
  boost::asio::awaitable<void> expire_overdue(Worker& worker);

  // Turns that run now, in this process.
  std::size_t running() const;

  store::Store& store();
  store::Milliseconds now() const;

 private:
  boost::asio::awaitable<TurnVerdict> decide_turn(const Settings& settings,
                                                  const dispatch::Dispatcher& dispatcher,
                                                  const TurnRequest& asked);
  Answered<store::TurnState> end_turn(store::Room room, std::string turn_id,
                                      store::TurnState state);
  Answered<std::vector<DiaryEvent>> events_now(std::int64_t session, std::int64_t last_id);
  void start(Worker& worker, std::shared_ptr<TurnLog> log, RunOrder order);

  std::shared_ptr<RunServices> shared_;
};

}  // namespace treaty::turns
