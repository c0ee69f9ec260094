// The end of a round: its value, the bytes that a renderer makes of it, the journal, and only then
// the followers (steps 6 and 7 of the life of a turn, ARCHITECTURE.md).
#include <fmt/format.h>

#include <exception>

#include "treaty/base/ids.h"
#include "treaty/base/json_write.h"
#include "treaty/base/notifier.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/turn_run.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using store::TurnState;

// How long to wait before an answer that could not be journalled is tried again.
constexpr std::chrono::milliseconds kStoreRetry{1'000};

// As the provider names it; empty: it did not say.
std::string model_that_answered(const contracts::AgentResult& result) {
  if (result.error || !result.provider_data) return {};
  return result.provider_data->find_text("model").value_or("");
}

}  // namespace

// What the round came to. Beside what the last call answered it names whom the last attempt asked:
// a call may fail because a backend was not asked any more.
SettledTurn TurnRun::settled_turn(Conclusion& conclusion) {
  SettledTurn turn{.session_id = order_.begin.session.room.session_id,
                   .turn_id = order_.begin.turn.turn_id,
                   .mode = order_.begin.turn.mode,
                   .answer_id = new_uuid(),
                   .answer = std::move(conclusion.answer),
                   .warnings = order_.warnings,
                   .result = std::move(result_)};
  totals_.give_to(turn.result);
  if (const auto* error = std::get_if<AnswerError>(&turn.answer)) {
    contracts::AgentResult failed = turns::result_of(*error);
    if (!turn.result.error)
      turn.result.error = conclusion.failure ? *conclusion.failure : *failed.error;
    if (conclusion.state == TurnState::cancelled || !turn.result.finish_reason) {
      turn.result.finish_reason = failed.finish_reason;
    }
  }
  if (asked_ != nullptr) {
    turn.backend = asked_->backend;
    turn.model = asked_->model;
  }
  // After a success nobody asks for the headers: what counts of them is in rate_limit.
  if (!turn.result.error && turn.result.provider_data) {
    turn.result.provider_data->erase("raw_headers");
  }
  if (turn.result.error) {
    if (!turn.result.provider_data) turn.result.provider_data = std::move(failed_data_);
    if (!turn.result.error->status_code) turn.result.error->status_code = failed_status_;
  }
  return turn;
}

store::Settlement TurnRun::settlement_of(const Conclusion& conclusion,
                                         const Outcome& outcome) const {
  const store::Turn& turn = order_.begin.turn;
  store::Settlement settlement{.turn = turn.id};
  settlement.update = {.state = conclusion.state,
                       .round = turn.round,
                       .error_code = outcome.error_code,
                       .retryable = conclusion.retryable,
                       .events = log_->result_event()};
  if (conclusion.state == TurnState::awaiting_tools) {
    settlement.update.pending = encode_pending(conclusion.pending);
    settlement.update.tool_deadline = services_->now() + order_.settings->tool_deadline.count();
  }
  settlement.answer = {.round = turn.round,
                       .body = outcome.body,
                       .format = std::string(outcome.renderer->format()),
                       .result = encode(std::get<SettledTurn>(outcome.source), transcript_),
                       .dialect = outcome.dialect,
                       .error_code = outcome.error_code,
                       .transcript = encode(transcript_),
                       .deltas = log_->deltas(),
                       .first_event = log_->first_event(),
                       .events = diary_.lines(),
                       .created_at = services_->now()};
  return settlement;
}

// Step 6: the value, and the bytes that a renderer makes of it.
Outcome TurnRun::outcome_of(Conclusion& conclusion) {
  for (const StepNote& made : conclusion.notes) note(made.kind, made.data);
  SettledTurn turn = settled_turn(conclusion);
  Rendered rendered = order_.renderer->render(turn, order_.request.dialect);
  if (!rendered.broken.empty()) {
    conclusion.state = TurnState::failed;
    turn.answer = error_of(Refusal{Reason::internal,
                                   "the server composed an answer that breaks its contract and "
                                   "withheld it; report it, and send the request as a new turn"});
    note("answer.broken", "{}");
  }
  json::Writer end;
  end.begin_object();
  if (!rendered.error_code.empty()) end.member("ErrorCode", rendered.error_code);
  if (asked_ != nullptr) {
    end.member("Backend", asked_->backend).member("Model", asked_->model);
    const auto answered = model_that_answered(turn.result);
    if (!answered.empty() && answered != asked_->model) end.member("ModelAnswered", answered);
    end.member("Attempts", attempts_);
  }
  note(fmt::format("turn.{}", name_of(conclusion.state)), end.end_object().take());
  if (conclusion.state != TurnState::awaiting_tools) transcript_.progress = {};
  return {.body = std::move(rendered.body),
          .dialect = order_.request.dialect,
          .renderer = order_.renderer,
          .error_code = std::move(rendered.error_code),
          .retry_after =
              conclusion.retryable ? conclusion.retry_after.value_or(1) : std::optional<double>(),
          .limits = std::move(conclusion.limits),
          .source = std::move(turn)};
}

// Steps 6 and 7.
asio::awaitable<void> TurnRun::journal(Conclusion conclusion) {
  const auto make_outcome = [&] { return std::make_shared<const Outcome>(outcome_of(conclusion)); };
  auto outcome = said_bytes_ <= kManyBytes
                     ? make_outcome()
                     : co_await worker_.beside_the_loop(said_bytes_, make_outcome);
  co_await settle(conclusion, std::move(outcome));
}

// After an exception, wherever it came from: the round is journalled as failed, without what the
// backend said, since that may be what cannot be written.
asio::awaitable<void> TurnRun::fail_internally(const std::string& why) {
  report("failed by an internal error", why);
  if (log_->outcome_now()) co_return;  // It has been answered.
  const Refusal refusal{
      Reason::internal,
      "the server failed to run this turn; send the same request again, and report it"};
  try {
    result_ = {};
    transcript_ = {};
    said_bytes_ = 0;
    co_await journal(conclude_refusal(refusal, TurnState::failed, true));
  } catch (const std::exception& error) {
    report("cannot be ended, and runs again when the server is restarted", error.what());
    if (!log_->outcome_now()) {
      log_->finish(Outcome{.dialect = order_.request.dialect,
                           .renderer = order_.renderer,
                           .error_code = std::string(code_of(Reason::internal)),
                           .source = refusal});
    }
  }
}

void TurnRun::report(std::string_view what, std::string_view why) const {
  if (!services_->report) return;
  const store::Room& room = order_.begin.session.room;
  services_->report(fmt::format("turn {} of session {} (tenant {}) {}: {}",
                                order_.begin.turn.turn_id, room.session_id, room.tenant, what,
                                why));
}

// What cannot be journalled is not told; it is tried again until it can be, so that nothing that
// was paid for is lost.
asio::awaitable<void> TurnRun::settle(const Conclusion& conclusion,
                                      std::shared_ptr<const Outcome> outcome) {
  while (true) {
    const auto write = [&] { return settlement_of(conclusion, *outcome); };
    const auto settled = co_await services_->store.settle(
        said_bytes_ <= kManyBytes ? write() : co_await worker_.beside_the_loop(said_bytes_, write));
    if (settled) break;
    if (settled.error().code == ErrorCode::conflict) co_return tell_ended_elsewhere();
    tell_store_unavailable();
    co_await sleep_for(kStoreRetry);
  }
  log_->finish(std::move(outcome));
  remember(conclusion);
}

// Those who wait are told so; whoever comes next waits for the next try, under ids of its own: the
// answer is not what was told under the last one.
void TurnRun::tell_store_unavailable() {
  auto next = std::make_shared<TurnLog>();
  next->assign();
  next->open(*log_->opening(), log_->result_event() + 1);
  next->restore_deltas(log_->deltas());
  services_->live.replace(order_.key, next);
  std::shared_ptr<TurnLog> told;
  {
    const MutexLock lock(log_mutex_);
    told = std::exchange(log_, std::move(next));
  }
  const Refusal refusal{Reason::store_unavailable,
                        "the answer cannot be journalled now; send the same request again, it is "
                        "kept for you"};
  told->finish(turns::outcome_of(refusal, *order_.renderer, order_.request.dialect));
}

void TurnRun::tell_ended_elsewhere() {
  const Refusal refusal{Reason::turn_cancelled,
                        "the turn was ended by somebody else; read it with GET …/turns/{t}"};
  log_->finish(turns::outcome_of(refusal, *order_.renderer, order_.request.dialect));
}

// The next turn of this session need not be read from the journal.
void TurnRun::remember(const Conclusion& conclusion) {
  if (conclusion.state != TurnState::completed || !history_) return;
  std::vector<backends::Message> messages;
  if (earlier_rounds_.use_count() == 1) {
    messages = std::move(*earlier_rounds_);
  } else {
    messages = *earlier_rounds_;  // A backend still reads them.
  }
  std::ranges::move(transcript_.messages, std::back_inserter(messages));
  auto history = std::make_shared<History>(*history_);
  history->append(past_turn(std::move(messages)), context_window());
  history->until = order_.begin.turn.number;
  services_->histories.put(session(), std::move(history));
}

}  // namespace treaty::turns
