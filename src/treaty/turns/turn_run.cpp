#include "treaty/turns/turn_run.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/prompt.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using backends::Message;
using contracts::AgentResult;
using contracts::ToolContinuation;
using contracts::UserTurn;
using store::TurnState;

// More deltas than an answer can have: after a crash nobody knows how many had left, and what
// follows must have an id above theirs.
constexpr std::int64_t kUnknownDeltas = std::int64_t{1} << 24U;

using dispatch::kAnswerTokens;

constexpr std::size_t kMostProgress = 1'000;  // Entries of the diary, in a round.

// Ids of turns are never given out again, unlike those that clients make up.
std::string asker_of(const Begin& begin) {
  const store::Room& room = begin.session.room;
  return fmt::format("{}\n{}\n{}\n{}", room.tenant, room.session_id, begin.turn.turn_id,
                     begin.turn.id);
}

constexpr const char* kContinued =
    "The answer was cut off in the middle, and another model went on with it: look at the place "
    "where they meet.";

}  // namespace

const Renderer& RunServices::renderer_of(std::string_view format) const {
  const auto found = std::ranges::find(renderers, format, &Renderer::format);
  return found == renderers.end() ? *renderers.front() : **found;
}

TurnRun::TurnRun(std::shared_ptr<RunServices> services, Worker& worker,
                 std::shared_ptr<TurnLog> log, RunOrder order)
    : services_(std::move(services)),
      worker_(worker),
      log_(std::move(log)),
      order_(std::move(order)),
      diary_(order_.begin.turn, std::move(order_.begin.earlier_events), order_.begin.diary_after) {}

std::shared_ptr<TurnLog> TurnRun::log() const {
  const MutexLock lock(log_mutex_);
  return log_;
}

asio::awaitable<void> TurnRun::run(std::shared_ptr<TurnRun> self) {
  const auto& begin = self->order_.begin;
  RunningTurns& live = self->services_->live;
  self->log_->open({begin.session.room.session_id, begin.turn.turn_id, begin.turn.mode},
                   begin.turn.events + 1 + (begin.turn.has_streamed ? kUnknownDeltas : 0));
  live.notify_diary(self->session());
  Conclusion conclusion;
  try {
    conclusion = co_await self->conclude();
  } catch (const std::exception&) {  // A bug, or no memory: this turn fails, the server lives.
    conclusion = conclude_refusal({Reason::internal,
                                   "the server failed to run this turn; send the "
                                   "same request again, and report it"},
                                  TurnState::failed, true);
  }
  auto outcome = std::make_shared<const Outcome>(self->outcome_of(conclusion));
  co_await self->settle(conclusion, std::move(outcome));
  live.remove(*self);
  live.leave(self->order_.key);
  live.notify_diary(self->session());
  self->order_.dispatcher.reset();  // Here: it belongs to this thread, and others may hold the run.
}

void TurnRun::cancel() {
  asio::post(worker_.executor, [self = shared_from_this()] {
    self->stop_ = Stop::cancelled;
    self->stop_signal_.emit(asio::cancellation_type::terminal);
  });
}

// Steps 4 to 6 of the life of a turn (ARCHITECTURE.md).
asio::awaitable<Conclusion> TurnRun::conclude() {
  if (order_.begin.turn.has_streamed) co_return conclude_failure(interrupted());
  if (order_.begin.agent == nullptr) {
    co_return conclude_refusal({Reason::agent_not_found, "the agent of this session is gone"},
                               TurnState::failed, false);
  }
  if (const auto prepared = co_await prepare(); !prepared) {
    co_return conclude_refusal(
        {Reason::store_unavailable, "the journal cannot be read now; send the same request again"},
        TurnState::failed, true);
  }
  const Agent& agent = *order_.begin.agent;
  deadline_ =
      order_.dispatcher->pools().now() + std::chrono::duration<double>(agent.deadline).count();
  asio::steady_timer deadline(worker_.executor, agent.deadline);
  deadline.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    self->stop_ = Stop::deadline;
    self->stop_signal_.emit(asio::cancellation_type::terminal);
  });
  while (true) {
    if (const Stop stop = stop_; stop != Stop::none) co_return stopped(stop);
    dispatch::Dispatched call = co_await ask_backend();
    totals_.add(call.result);
    result_ = std::move(call.result);
    const AgentResult& result = result_;
    if (const Stop stop = stop_; stop != Stop::none && result.error) co_return stopped(stop);
    Stepped stepped =
        next_step(*order_.begin.role, agent.max_rounds, std::move(transcript_.progress), result);
    transcript_.progress = std::move(stepped.progress);
    transcript_.progress.was_continued |= call.was_continued;
    for (const StepNote& made : stepped.notes) note(made.kind, made.data);
    if (const auto* fail = std::get_if<Fail>(&stepped.step)) {
      co_return conclude_failure(fail->error, result.rate_limit, std::move(call.limits));
    }
    transcript_.messages.emplace_back(std::move(stepped.said));
    if (const auto* finish = std::get_if<Finish>(&stepped.step)) {
      std::vector<std::string> warnings;
      const auto* user = std::get_if<UserTurn>(&order_.request.scenario);
      if (user != nullptr && user->rag_scope) {
        warnings.emplace_back(
            "There is no index to search: RagScope was not used for this answer.");
      }
      if (transcript_.progress.was_continued) warnings.emplace_back(kContinued);
      co_return conclude_finish(*finish, transcript_.progress, std::move(warnings));
    }
    auto* ask = std::get_if<AskClient>(&stepped.step);
    auto& results = ask != nullptr ? ask->known : std::get<AskAgain>(stepped.step).results;
    for (auto& known : results) transcript_.messages.emplace_back(std::move(known));
    if (ask != nullptr) co_return conclude_asking(*ask);
  }
}

Conclusion TurnRun::stopped(Stop stop) const {
  if (stop == Stop::cancelled) {
    return conclude_refusal({Reason::turn_cancelled,
                             "the turn was cancelled; the session goes on with the turn before it",
                             order_.begin.turn.turn_id},
                            TurnState::cancelled, false);
  }
  return conclude_failure({.message = "the turn did not end within its deadline",
                           .code = "timeout",
                           .type = "Deadline",
                           .retryable = true});
}

// Step 4: everything that the model is told.
asio::awaitable<std::expected<void, Error>> TurnRun::prepare() {
  if (order_.begin.turn.round > 0) {
    TREATY_CO_TRY(auto record, co_await services_->store.find_turn(order_.begin.session.room,
                                                                   order_.begin.turn.turn_id));
    if (!record) co_return fail(ErrorCode::conflict, "the turn is gone");
    const auto rounds = std::span<const store::Round>(record->rounds)
                            .first(static_cast<std::size_t>(order_.begin.turn.round));
    TREATY_CO_TRY(auto messages, messages_of(rounds));
    earlier_rounds_ = std::move(messages);
    if (rounds.back().answer && !rounds.back().answer->transcript.empty()) {
      auto transcript = decode_transcript(rounds.back().answer->transcript);
      if (transcript) transcript_.progress = std::move(transcript->progress);
    }
    add_results(earlier_rounds_, std::get<ToolContinuation>(order_.request.scenario));
  } else {
    earlier_rounds_.emplace_back(user_message(std::get<UserTurn>(order_.request.scenario)));
  }
  TREATY_CO_TRY_VOID(co_await recall());
  co_return std::expected<void, Error>();
}

asio::awaitable<std::expected<void, Error>> TurnRun::recall() {
  const auto& begin = order_.begin;
  if (begin.history_until == 0) {
    history_ = std::make_shared<History>();
    co_return std::expected<void, Error>();
  }
  history_ = services_->histories.find(session(), begin.history_until);
  if (history_) co_return std::expected<void, Error>();
  TREATY_CO_TRY(auto stored, co_await services_->store.history(
                                 session(), begin.turn.number,
                                 static_cast<std::size_t>(std::max<std::int64_t>(
                                     begin.agent->chain.front().context_window, 0)) *
                                     4));
  History history;
  history.until = begin.history_until;
  history.has_more = stored.more;
  for (auto record = stored.turns.rbegin(); record != stored.turns.rend(); ++record) {
    TREATY_CO_TRY(auto messages, messages_of(record->rounds));
    history.append(past_turn(std::move(messages)));
  }
  history_ = std::make_shared<History>(std::move(history));
  co_return std::expected<void, Error>();
}

// What the model gets: as much of the history as fits beside what this turn itself says.
backends::Call TurnRun::make_call() {
  backends::Call call{
      .model = {},
      .system = system_text(*order_.begin.role, order_.begin.session.solution_context),
      .tools = declarations_of(*order_.begin.role),
      .stream = order_.streams,
      .asker = asker_of(order_.begin)};
  const auto& choice = order_.begin.agent->chain.front();
  const std::size_t taken =
      static_cast<std::size_t>(choice.max_output_tokens.value_or(kAnswerTokens)) +
      estimated_tokens(earlier_rounds_) + estimated_tokens(transcript_.messages) +
      call.system.size() / 4;
  std::size_t first = 0;
  std::size_t tokens = history_->tokens();  // Of the turns that are kept.
  while (tokens + taken > static_cast<std::size_t>(choice.context_window) &&
         first < history_->size()) {
    tokens -= (*history_)[first++].tokens;
  }
  if (first > 0 || history_->has_more) {
    json::Writer data;
    data.begin_object().member("TurnsKept", history_->size() - first);
    data.member("TurnsDropped", first).member("OlderDropped", history_->has_more);
    data.member("EstimatedTokensKept", tokens).member("ContextWindow", choice.context_window);
    note("history.dropped", data.end_object().take());
  }
  for (; first < history_->size(); ++first) {
    const PastTurn& turn = (*history_)[first];
    call.messages.share(turn.messages, turn.bytes, history_);
  }
  for (const Message& message : earlier_rounds_) call.messages.push_back(message);
  for (const Message& message : transcript_.messages) call.messages.push_back(message);
  return call;
}

// Step 5.
asio::awaitable<dispatch::Dispatched> TurnRun::ask_backend() {
  co_return co_await asio::co_spawn(
      worker_.executor,
      order_.dispatcher->run({.chain = order_.begin.agent->chain,
                              .deadline = deadline_,
                              .continues_cuts = order_.begin.agent->on_cut == OnCut::go_on,
                              .budgets = budgets()},
                             make_call(), static_cast<backends::Sink&>(*this),
                             static_cast<dispatch::Observer&>(*this)),
      asio::bind_cancellation_slot(stop_signal_.slot(), asio::use_awaitable));
}

// Those that a call of this turn is paid from.
std::vector<store::BudgetLimit> TurnRun::budgets() const {
  std::vector<store::BudgetLimit> limits;
  const auto add = [&](std::string scope, const dispatch::Budget& budget) {
    if (!budget.is_empty()) {
      limits.push_back({std::move(scope), budget.tokens, budget.picodollars});
    }
  };
  const Agent& agent = *order_.begin.agent;
  if (!agent.budget.is_empty()) add(dispatch::scope_of("agent", agent.name), agent.budget);
  const auto& tenants = order_.settings->tenant_budgets;
  const std::string& tenant = order_.begin.session.room.tenant;
  if (const auto own = tenants.find(tenant); own != tenants.end()) {
    add(dispatch::scope_of("tenant", tenant), own->second);
  }
  return limits;
}

void TurnRun::on_attempt_started(const dispatch::Choice& choice, int attempt) {
  note("attempt.started", started_data(choice, attempt));
}

void TurnRun::on_attempt_ended(const dispatch::Choice& choice, int attempt, dispatch::Seconds took,
                               const AgentResult& result) {
  asked_ = &choice;
  if (result.error) {
    failed_status_ = result.error->status_code;
    failed_data_ = result.provider_data;
  }
  note(result.error ? "attempt.failed" : "attempt.completed",
       ended_data(choice, attempt, took, result));
}

void TurnRun::on_waiting(const dispatch::Choice& choice, dispatch::Seconds wait,
                         std::string_view reason) {
  note("waiting", waiting_data(choice, wait, reason));
}

void TurnRun::on_switched(const dispatch::Choice& from, const dispatch::Choice& to,
                          std::string_view reason) {
  note("switched", switched_data(from, to, reason));
}

void TurnRun::on_breaker(const dispatch::Choice& choice, bool is_open) {
  note(is_open ? "breaker.opened" : "breaker.closed", backend_data(choice));
}

void TurnRun::on_given_up(const dispatch::Choice& choice, std::string_view reason) {
  note("given_up", given_up_data(choice, reason));
}

void TurnRun::on_text(std::string_view delta) {
  if (!order_.streams || delta.empty()) return;
  const bool is_first = log_->result_event() == log_->first_event() + 1;
  log_->add(delta);
  if (is_first) {
    asio::co_spawn(worker_.executor, mark_streamed(shared_from_this()), asio::detached);
  }
}

// A backend may make any number of steps; a diary has a last page.
void TurnRun::on_progress(std::string_view kind, std::string_view data) {
  if (progress_notes_ > kMostProgress) return;
  if (progress_notes_++ < kMostProgress) return note(kind, data);
  note("progress.dropped", fmt::format(R"({{"Kept":{}}})", kMostProgress));
}

// After a crash it is known that deltas may have left: they leave only when that is on the disk.
asio::awaitable<void> TurnRun::mark_streamed(std::shared_ptr<TurnRun> self) {
  if (co_await self->services_->store.mark_streamed(self->turn())) self->log_->show_deltas();
}

void TurnRun::note(std::string_view kind, std::string_view data) {
  diary_.add(kind, services_->now(), data);
  services_->live.notify_diary(session());
}

}  // namespace treaty::turns
