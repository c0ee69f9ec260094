#include "treaty/turns/engine.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "treaty/base/ids.h"
#include "treaty/base/notifier.h"
#include "treaty/base/try.h"
#include "treaty/turns/decision.h"
#include "treaty/turns/running_turns.h"
#include "treaty/turns/turn_run.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using contracts::Dialect;
using store::TurnState;

// How often a turn that another process runs is looked at.
constexpr std::chrono::milliseconds kGlance{100};
constexpr int kMostRecoveries = 10;  // Before one decision: processes may die one after another.

template <class T>
std::expected<T, Refusal> stored(std::expected<T, Error> answer) {
  return map_error(std::move(answer), store_refusal);
}

// Matches the results of a continuation where no other request waits for that.
asio::awaitable<std::optional<Refusal>> match_beside(Worker& worker, TurnRequest& asked,
                                                     std::string pending) {
  const auto match = [&] { return match_results(asked, std::move(pending)); };
  if (worker.pool == nullptr) {
    asked.matched = match();
    co_return std::nullopt;
  }
  auto matched = co_await worker.pool->run(match);
  if (!matched) {
    co_return Refusal{Reason::overloaded, "too many large requests are being read; try again soon"};
  }
  asked.matched = *std::move(matched);
  co_return std::nullopt;
}

std::int64_t result_event_of(const store::AnswerRecord& answer) {
  return answer.first_event + static_cast<std::int64_t>(TurnLog::count_deltas(answer.deltas)) + 1;
}

}  // namespace

TurnRequest prepare(Submission submission, store::Milliseconds now) {
  TurnRequest asked = ask(std::move(submission.tenant), std::move(submission.request),
                          submission.idempotency_key, now);
  asked.trace_id = std::move(submission.trace_id);
  asked.renderer = submission.renderer;
  asked.streams = asked.streams || submission.streams;
  asked.warnings = std::move(submission.warnings);
  return asked;
}

Engine::Engine(store::Store& store, std::shared_ptr<Clock> clock,
               std::vector<const Renderer*> renderers,
               std::function<void(const std::string&)> report)
    : shared_(std::make_shared<RunServices>(store, std::move(clock), std::move(renderers),
                                            std::move(report))) {}

Engine::~Engine() = default;

store::Store& Engine::store() { return shared_->store; }
store::Milliseconds Engine::now() const { return shared_->now(); }
std::size_t Engine::running() const { return shared_->live.count(); }

asio::awaitable<std::shared_ptr<TurnLog>> Engine::execute(Worker& worker, Submission submission) {
  return execute(worker, prepare(std::move(submission), now()));
}

// Step 3 of the life of a turn (ARCHITECTURE.md); TurnRun does the rest.
asio::awaitable<std::shared_ptr<TurnLog>> Engine::execute(Worker& worker, TurnRequest asked) {
  auto log = std::make_shared<TurnLog>();
  std::string key = live_key(asked.room, asked.key);
  if (const auto other = shared_->live.join(key, {log, asked.fingerprint})) {
    if (other->fingerprint == asked.fingerprint) co_return other->log;
    log->finish(outcome_of(
        {Reason::idempotency_conflict,
         "this Idempotency-Key came with another body before: use a new key for a new request",
         "Idempotency-Key"},
        *asked.renderer, asked.request.dialect));
    co_return log;
  }
  // A reload meanwhile is for the next request.
  Arrival arrival{std::move(asked), std::move(key), log, worker.settings, worker.dispatcher};
  TurnVerdict verdict = co_await decide_turn(worker, arrival);
  const auto* running = std::get_if<Running>(&verdict);
  if (running != nullptr && !log->is_assigned()) {
    const TurnRequest& request = arrival.asked;
    DistantRound round{.room = running->room,
                       .turn = running->turn,
                       .key = arrival.key,
                       .renderer = request.renderer,
                       .dialect = request.request.dialect};
    asio::co_spawn(worker.executor, await_end(worker, std::move(round), log), asio::detached);
  } else {
    act_on(worker, std::move(verdict), std::move(arrival));
  }
  co_return log;
}

void Engine::act_on(Worker& worker, TurnVerdict verdict, Arrival arrival) {
  auto& [asked, key, log, settings, dispatcher] = arrival;
  if (auto* begin = std::get_if<Begin>(&verdict)) {
    start(worker, {std::move(log), asked.fingerprint},
          {std::move(*begin), std::move(settings), std::move(dispatcher), std::move(asked.request),
           std::move(key), asked.streams, asked.renderer, std::move(asked.warnings),
           asked.body.size()});
    return;  // Leaves the registry when it ends.
  }
  if (!shared_->live.withdraw(key, *log)) return;  // Recovered, for all who wait here.
  if (auto* refusal = std::get_if<Refusal>(&verdict)) {
    log->finish(outcome_of(std::move(*refusal), *asked.renderer, asked.request.dialect));
  }
  if (const auto* replay = std::get_if<Replay>(&verdict)) {
    const store::AnswerRecord& answer = *replay->round.answer;
    restore(*log, replay->session.room.session_id, replay->turn, answer,
            shared_->renderer_of(answer.format));
  }
}

void Engine::start(Worker& worker, RunningTurns::Request request, RunOrder order) {
  auto log = shared_->live.begin_run(order.key, std::move(request));
  auto run = std::make_shared<TurnRun>(shared_, worker, std::move(log), std::move(order));
  shared_->live.add(run);
  asio::co_spawn(worker.executor, TurnRun::run(run), asio::detached);
}

template <class Decision, class T>
store::Task<store::Decided<T>> Engine::decide_recovered(Worker& worker, store::Lookup lookup,
                                                        Decision decision) {
  struct Choice {
    std::optional<T> value{};
    std::int64_t abandoned = 0;
  };
  for (int tries = 0; tries < kMostRecoveries; ++tries) {
    TREATY_CO_TRY(
        auto decided, co_await shared_->store.decide(lookup, [&](const store::View& view) {
          if (view.abandoned != 0) return store::Proposal<Choice>{{}, {{}, view.abandoned}};
          auto proposal = decision(view);
          return store::Proposal<Choice>{std::move(proposal.change), {std::move(proposal.value)}};
        }));
    auto& [value, abandoned] = decided.value;
    if (value) co_return store::Decided<T>{*std::move(value), decided.applied};
    TREATY_CO_TRY_VOID(co_await recover_turn(worker, abandoned));
  }
  co_return fail(ErrorCode::conflict, "the session changes all the time");
}

asio::awaitable<TurnVerdict> Engine::decide_turn(Worker& worker, Arrival& arrival) {
  const Settings& settings = *arrival.settings;
  TurnRequest& asked = arrival.asked;
  struct Choice {
    TurnVerdict verdict{};
    const Agent* sent_away = nullptr;  // Of a turn that would have begun.
  };
  const bool is_full = shared_->live.count() >= settings.max_running_turns;
  const auto choose = [&](const store::View& view) {
    Decision decision = decide(settings, asked, view);
    const auto* begin = std::get_if<Begin>(&decision.verdict);
    if (begin != nullptr && arrival.log->is_assigned()) {
      // It was recovered while this request waited for it, and has failed: that is the answer.
      return store::Proposal<Choice>{{}, {Running{begin->session.room, begin->turn}}};
    }
    if (!is_full || begin == nullptr) {
      return store::Proposal<Choice>{std::move(decision.change), {std::move(decision.verdict)}};
    }
    Refusal refusal{Reason::overloaded, "too many turns run now: try again later"};
    return store::Proposal<Choice>{{}, {std::move(refusal), begin->agent}};
  };
  while (true) {
    auto decided = co_await decide_recovered<decltype(choose), Choice>(
        worker, {asked.room, asked.request.turn_id, asked.key}, choose);
    if (!decided) co_return store_refusal(decided.error());
    auto& [verdict, sent_away] = decided->value;
    const store::Applied& applied = decided->applied;
    if (sent_away != nullptr) {
      // Earlier than its backends can take one more, nobody need come back.
      std::get<Refusal>(verdict).retry_after =
          std::max(arrival.dispatcher->next_free(sent_away->chain), 1.0);
    }
    if (std::holds_alternative<Replay>(verdict)) {
      shared_->live.notify_diary(
          applied.session);  // The answer may be that the turn has just failed.
    }
    if (auto* begin = std::get_if<Begin>(&verdict)) {
      begin->session.id = applied.session;
      begin->turn.id = applied.turn;
      begin->turn.session = applied.session;
      begin->turn.number = applied.number;
    }
    if (const auto* replay = std::get_if<Replay>(&verdict); replay && !replay->round.answer) {
      co_return turn_unanswered();
    }
    if (const auto* overdue = std::get_if<ExpireFirst>(&verdict)) {
      const auto expired =
          co_await end_turn(worker, overdue->room, overdue->turn_id, TurnState::expired, asked.now);
      if (!expired) co_return expired.error();
    } else if (auto* match = std::get_if<MatchFirst>(&verdict)) {
      if (auto refusal = co_await match_beside(worker, asked, std::move(match->pending))) {
        co_return *std::move(refusal);
      }
    } else {
      co_return std::move(verdict);
    }
  }
}

// Ends a turn that waits for tools, unless it has moved on meanwhile. Its state afterwards: one
// that is overdue at the time `at` has expired, even if it was to be cancelled.
Answered<TurnState> Engine::end_turn(Worker& worker, store::Room room, std::string turn_id,
                                     TurnState state, store::Milliseconds at) {
  using After = std::expected<TurnState, Refusal>;
  const auto choose = [state, at](const store::View& view) -> store::Proposal<After> {
    if (!view.session) return {.value = std::unexpected(session_unknown())};
    if (!view.named) return {.value = std::unexpected(turn_unknown())};
    const TurnState before = view.named->state;
    if (before != TurnState::awaiting_tools) return {.value = before};
    store::Change change = end_waiting(*view.named, at);
    const TurnState after = change.update->state;
    if (state == TurnState::expired && after != state) return {.value = before};  // Not yet.
    return {std::move(change), after};
  };
  const auto decided = co_await decide_recovered<decltype(choose), After>(
      worker, {std::move(room), std::move(turn_id), ""}, choose);
  if (!decided) co_return std::unexpected(store_refusal(decided.error()));
  shared_->live.notify_diary(decided->applied.session);
  co_return decided->value;
}

Answered<OpenedSession> Engine::open_session(Worker& worker, std::string tenant, std::string agent,
                                             std::string conversation) {
  if (!agent.empty() || !conversation.empty()) {
    TREATY_CO_TRY(
        const Chosen found,
        find_agent(*worker.settings, agent.empty() ? kDefaultAgent : agent, conversation));
    agent = found.agent->name;
  }
  const OpenedSession opened{new_uuid(), new_uuid()};
  const store::Room room{std::move(tenant), opened.session_id};
  store::Change change;
  change.open = store::NewSession{room, opened.turn_id, ""};
  if (!agent.empty()) {
    change.agent = std::move(agent);
    change.conversation = std::move(conversation);
  }
  const auto applied = co_await shared_->store.transact(
      {room, "", ""}, [change = std::move(change)](const store::View&) { return change; });
  if (!applied) co_return std::unexpected(store_refusal(applied.error()));
  co_return opened;
}

Answered<OpenedSession> Engine::branch(Worker& worker, store::Room room, std::string turn_id) {
  using Source = std::variant<Refusal, store::Session, std::string>;
  const auto choose = [turn_id, now = now()](const store::View& view) -> store::Proposal<Source> {
    if (!view.session) return {.value = session_unknown()};
    if (!turn_id.empty() && view.session->opening_turn == turn_id) {
      return {.value = *view.session};  // From before its first turn.
    }
    const auto& found = turn_id.empty() ? view.newest : view.named;
    if (!found) return {.value = turn_unknown()};
    const store::Turn from = as_of(*found, now);
    if (!is_open(from.state)) return {.value = from.turn_id};
    return {.value = Refusal{
                Reason::turn_in_progress,
                "the turn has not ended: wait for its answer, or branch from the one before it",
                from.turn_id}};
  };
  const auto looked =
      co_await decide_recovered<decltype(choose), Source>(worker, {room, turn_id, ""}, choose);
  if (!looked) co_return std::unexpected(store_refusal(looked.error()));
  const Source& source = looked->value;
  if (const auto* refusal = std::get_if<Refusal>(&source)) co_return std::unexpected(*refusal);
  if (const auto* empty = std::get_if<store::Session>(&source)) {
    co_return co_await open_session(worker, room.tenant, empty->agent, empty->conversation);
  }
  TREATY_CO_TRY(const auto made, stored(co_await shared_->store.branch(
                                     std::move(room), std::get<std::string>(source), new_uuid())));
  TREATY_CO_TRY(const auto turns,
                stored(co_await shared_->store.list_turns(made.id, made.turns - 1, 1)));
  co_return OpenedSession{made.room.session_id,
                          turns.empty() ? made.opening_turn : turns.back().turn_id};
}

Answered<TurnState> Engine::cancel(Worker& worker, store::Room room, std::string turn_id) {
  constexpr int kMostGlances = 20;
  for (int glances = 0; glances < kMostGlances; ++glances) {
    const auto state = co_await end_turn(worker, room, turn_id, TurnState::cancelled, now());
    if (!state || *state != TurnState::accepted) co_return state;
    TREATY_CO_TRY(const auto record, stored(co_await shared_->store.find_turn(room, turn_id)));
    const auto run = record ? shared_->live.find_turn(record->turn.id) : nullptr;
    if (!run) {  // Of another process; or it begins or ends at this moment.
      co_await sleep_for(kGlance);
      continue;
    }
    run->cancel();
    const auto outcome = co_await run->log()->outcome();
    if (outcome->error_code == code_of(Reason::store_unavailable)) {
      co_return std::unexpected(store_refusal({ErrorCode::unavailable, ""}));
    }
  }
  co_return std::unexpected(Refusal{Reason::turn_in_progress,
                                    "the turn runs in another process: cancel it there", turn_id});
}

Answered<std::shared_ptr<TurnLog>> Engine::follow(Worker& worker, store::Room room,
                                                  std::string turn_id,
                                                  std::optional<std::int64_t> last_id) {
  TREATY_CO_TRY(const auto found, stored(co_await shared_->store.find_turn(room, turn_id)));
  if (!found) {
    TREATY_CO_TRY(const auto session, stored(co_await shared_->store.find_session(room)));
    co_return std::unexpected(session ? turn_unknown() : session_unknown());
  }
  const store::Turn& turn = found->turn;
  const auto& rounds = found->rounds;
  const bool runs = turn.state == TurnState::accepted;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const auto& answer = rounds[i].answer;
    const bool is_newest = i + 1 == rounds.size();
    if (!answer || (is_newest && runs)) continue;  // Of an attempt before this one.
    const bool wanted = last_id ? *last_id < result_event_of(*answer) : is_newest;
    if (!wanted) continue;
    auto log = std::make_shared<TurnLog>();
    restore(*log, room.session_id, turn, *answer, shared_->renderer_of(answer->format));
    co_return shared_->live.share_replay(turn.id, answer->first_event, std::move(log));
  }
  if (!runs) co_return nullptr;
  if (const auto run = shared_->live.find_turn(turn.id)) co_return run->log();
  co_return follow_other_process(worker, std::move(room), turn);
}

Answered<std::vector<DiaryEvent>> Engine::events(Worker& worker, store::Room room,
                                                 std::int64_t last_id,
                                                 std::chrono::milliseconds patience) {
  TREATY_CO_TRY(const auto session, stored(co_await shared_->store.find_session(room)));
  if (!session) co_return std::unexpected(session_unknown());
  const std::int64_t id = session->id;
  const auto notifier = shared_->live.diary_notifier(id);
  Waiter waiter(worker.executor);
  notifier->subscribe(waiter);
  const SteadyTime end = shared_->clock->now() + patience;
  while (true) {
    auto events = co_await events_now(id, last_id);
    if (!events || !events->empty()) co_return events;
    if (!co_await shared_->clock->wait_until(waiter, end)) co_return std::vector<DiaryEvent>();
  }
}

std::shared_ptr<Notifier> Engine::diary_notifier(std::int64_t session) {
  return shared_->live.diary_notifier(session);
}

Answered<std::vector<DiaryEvent>> Engine::events_now(std::int64_t session, std::int64_t last_id) {
  constexpr std::size_t kRows = 200;
  // The diary first: what is journalled after this look is found in the journal, not skipped.
  std::vector<DiaryEvent> live;
  if (const auto run = shared_->live.find_session(session)) live = run->diary().after(last_id);
  std::vector<DiaryEvent> events;
  // A turn can have more rows than one look reads, all of them seen already.
  for (std::size_t limit = kRows;; limit *= 2) {
    TREATY_CO_TRY(const auto rows,
                  stored(co_await shared_->store.events(
                      session, std::max<std::int64_t>(last_id / kEventsPerTurn, 0), limit)));
    for (const auto& row : rows) {
      for (auto& event : events_of(row)) {
        if (event.id > last_id) events.push_back(std::move(event));
      }
    }
    if (rows.size() < limit) break;
    if (!events.empty()) co_return events;  // There is more in the journal.
  }
  const std::int64_t last = events.empty() ? last_id : events.back().id;
  for (auto& event : live) {
    if (event.id > last) events.push_back(std::move(event));
  }
  co_return events;
}

}  // namespace treaty::turns
