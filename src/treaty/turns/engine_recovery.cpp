// What the engine does about turns without being asked by a client: turns of processes that are
// gone run again, and turns whose tools did not answer in time expire.
#include <fmt/format.h>

#include "treaty/base/try.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/turn_run.h"

namespace treaty::turns {

namespace asio = boost::asio;
using store::TurnState;

asio::awaitable<std::expected<std::size_t, Error>> Engine::recover(
    Worker& worker, std::optional<std::int64_t> turn) {
  const auto diary = [at = now()](const store::Round& round) { return recovery_line(round, at); };
  for (std::size_t count = 0;;) {
    TREATY_CO_TRY(auto abandoned, co_await shared_->store.claim_abandoned(diary, turn));
    count += abandoned.size();
    for (store::Abandoned& one : abandoned) co_await resume(worker, std::move(one));
    if (turn || abandoned.empty()) co_return count;
  }
}

// A turn that cannot run again fails at once: then it does not keep the session any more.
store::Task<void> Engine::recover_turn(Worker& worker, std::int64_t turn) {
  TREATY_CO_TRY_VOID(co_await recover(worker, turn));
  const auto run = shared_->live.find_turn(turn);
  if (run && run->fails_at_once()) co_await run->log()->outcome();
  co_return std::expected<void, Error>();
}

// Runs the newest round of a turn that was claimed again.
asio::awaitable<void> Engine::resume(Worker& worker, store::Abandoned abandoned) {
  auto& [session, record] = abandoned;
  Begin begin{.session = session, .turn = record.turn};
  begin.history_until = Begin::kUnknown;
  if (const auto chosen = find_agent(*worker.settings, session.agent, session.conversation)) {
    begin.agent = chosen->agent;
    begin.role = chosen->role;
  }
  const store::Round newest =
      record.rounds.empty() ? store::Round() : std::move(record.rounds.back());
  const store::RequestRecord& stored = newest.request;
  if (newest.answer) begin.earlier_events = newest.answer->events;
  begin.diary_after = last_place(newest).index;
  auto request = co_await worker.beside_the_loop(stored.body.size(), [&] {
    return contracts::decode_agent_execute_request(
        stored.body, {.max_size = stored.body.size() + 1, .ids_optional = true});
  });
  RunOrder order{std::move(begin),
                 worker.settings,
                 worker.dispatcher,
                 request ? std::move(*request) : contracts::AgentExecuteRequest(),
                 live_key(session.room, stored.key),
                 stored.streaming,
                 &shared_->renderer_of(stored.format),
                 warnings_of(stored),
                 stored.body.size()};
  order.request.dialect = stored.dialect;
  order.is_unreadable = !request;
  if (order.is_unreadable && shared_->report) {
    shared_->report(
        fmt::format("turn {} of session {} (tenant {}) has failed: its request cannot "
                    "be read from the journal",
                    record.turn.turn_id, session.room.session_id, session.room.tenant));
  }
  start(worker, {std::make_shared<TurnLog>(), stored.fingerprint}, std::move(order));
}

// One look at the clock for each batch: what is overdue at that time expires, and a clock that is
// set back meanwhile changes nothing. A store that cannot be written to is left alone until the
// next call.
asio::awaitable<void> Engine::expire_overdue(Worker& worker) {
  constexpr std::size_t kAtOnce = 100;
  while (true) {
    const store::Milliseconds at = now();
    const auto overdue = co_await shared_->store.overdue(at, kAtOnce);
    if (!overdue) co_return;
    bool has_ended = false;
    for (const auto& turn : *overdue) {
      const auto ended = co_await end_turn(worker, turn.room, turn.turn_id, TurnState::expired, at);
      if (!ended && ended.error().reason == Reason::store_unavailable) co_return;
      has_ended = has_ended || ended.has_value();
    }
    if (!has_ended || overdue->size() < kAtOnce) co_return;
  }
}

}  // namespace treaty::turns
