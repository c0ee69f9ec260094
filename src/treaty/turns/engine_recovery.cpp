// What the engine does about other processes and about time: it runs turns of dead processes again,
// waits for rounds that other processes run, and expires turns whose tools did not answer in time.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "treaty/base/notifier.h"
#include "treaty/base/try.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/turn_run.h"

namespace treaty::turns {

namespace asio = boost::asio;
using store::TurnState;

namespace {

// How often the store is asked whether another process has ended a round.
constexpr std::chrono::milliseconds kInterval{100};
constexpr int kLooksToRecover = 10;   // After that many looks the other process may be gone.
constexpr int kMostFailedLooks = 10;  // In a row; then a waiting request is refused.

// The answer to the round that `turn` is in, if the record is of this turn.
const store::AnswerRecord* answer_of(const store::TurnRecord& record, const store::Turn& turn) {
  if (record.turn.id != turn.id) return nullptr;
  for (const store::Round& round : record.rounds) {
    if (round.answer && round.answer->round == turn.round) return &*round.answer;
  }
  return nullptr;
}

}  // namespace

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

// The log of a round that another process runs, shared by all who follow it here. It is empty until
// the round has ended.
std::shared_ptr<TurnLog> Engine::follow_other_process(Worker& worker, store::Room room,
                                                      const store::Turn& turn) {
  const auto made = std::make_shared<TurnLog>();
  auto log = shared_->live.share_replay(turn.id, turn.events + 1, made);
  if (log == made) {
    DistantRound round{
        .room = std::move(room), .turn = turn, .key = {}, .renderer = shared_->renderers.front()};
    asio::co_spawn(worker.executor, await_end(worker, std::move(round), made), asio::detached);
  }
  return log;
}

// Fills the log when the round has ended, unless all who wait have left before, or a run of this
// process has taken the round over and writes the log itself. Until then nothing is kept of the
// request: it may be large, and many may wait.
asio::awaitable<void> Engine::await_end(Worker& worker, DistantRound round,
                                        std::weak_ptr<TurnLog> followed) {
  const store::Turn& turn = round.turn;
  int failures = 0;
  for (int looks = 1;; ++looks) {
    co_await sleep_for(kInterval);
    shared_->live.forget_unfollowed(round.key);
    if (followed.expired()) co_return;
    if (looks % kLooksToRecover == 0) co_await recover(worker, turn.id);
    const auto looked = co_await look_at_end(round);
    failures = looked ? 0 : failures + 1;
    // A request is refused when the store stays unavailable; a client that follows the turn waits.
    if (looked ? !*looked : round.key.empty() || failures < kMostFailedLooks) continue;
    const auto log = followed.lock();
    if (!log || !shared_->live.withdraw(round.key, *log)) co_return;
    if (!looked || !**looked) {
      const Refusal refusal = looked ? (**looked).error() : store_refusal(looked.error());
      co_return log->finish(outcome_of(refusal, *round.renderer, round.dialect));
    }
    const store::TurnRecord& record = ***looked;
    const store::AnswerRecord& answer = *answer_of(record, turn);
    co_return restore(*log, round.room.session_id, record.turn, answer,
                      shared_->renderer_of(answer.format));
  }
}

// The turn with the answer of the round, or why there is none. Nothing while it runs: then only the
// row of the turn is read.
store::Task<std::optional<Engine::RoundEnd>> Engine::look_at_end(const DistantRound& round) {
  const store::Turn& turn = round.turn;
  TREATY_CO_TRY(const auto rows,
                co_await shared_->store.list_turns(turn.session, turn.number - 1, 1));
  const bool still_runs = !rows.empty() && rows.front().id == turn.id &&
                          rows.front().state == TurnState::accepted &&
                          rows.front().round == turn.round;
  if (still_runs) co_return std::nullopt;
  TREATY_CO_TRY(auto found, co_await shared_->store.find_turn(round.room, turn.turn_id));
  if (found && answer_of(*found, turn) != nullptr) co_return RoundEnd(*std::move(found));
  if (found && found->turn.id == turn.id) co_return RoundEnd(std::unexpected(turn_unanswered()));
  TREATY_CO_TRY(const auto session, co_await shared_->store.find_session(round.room));
  co_return RoundEnd(std::unexpected(session ? turn_unknown() : session_unknown()));
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
