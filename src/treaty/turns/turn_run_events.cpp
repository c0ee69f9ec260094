// What a round tells its diary while it runs: what dispatch does, what backends are doing.
#include <fmt/format.h>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/turn_run.h"

namespace treaty::turns {
namespace {

using contracts::AgentResult;

// Of thoughts that are shown: one entry of the diary.
constexpr std::size_t kThinkingPiece = 1'024;
constexpr store::Milliseconds kThinkingPause = 500;  // Between two entries.

constexpr std::size_t kMostProgress = 1'000;  // Entries of the diary, in a round.

}  // namespace

void TurnRun::on_attempt_started(const dispatch::Choice& choice, int attempt) {
  left_out_pictures_ = false;
  ++attempts_;
  note("attempt.started", started_data(choice, attempt));
}

void TurnRun::on_attempt_ended(const dispatch::Choice& choice, int attempt, dispatch::Seconds took,
                               const AgentResult& result) {
  show_thinking(true);
  asked_ = &choice;
  if (result.error) {
    failed_status_ = result.error->status_code;
    failed_data_ = result.provider_data;
  }
  note(result.error ? "attempt.failed" : "attempt.completed",
       ended_data(choice, attempt, took, result));
}

void TurnRun::on_waiting(const dispatch::Choice& choice, dispatch::Seconds wait,
                         const dispatch::Why& why) {
  note("waiting", waiting_data(choice, wait, why));
}

void TurnRun::on_asked_again(const dispatch::Choice& choice, const dispatch::Why& why) {
  note("asked_again", why_data(choice, why));
  report_why(fmt::format("asks backend {} ({}) again", choice.backend, choice.model), why);
}

void TurnRun::on_thoughts_dropped(const dispatch::Choice& choice, const dispatch::Why& why) {
  note("thoughts.dropped", why_data(choice, why));
  report_why(fmt::format("drops reasoning at backend {} ({})", choice.backend, choice.model), why);
}

void TurnRun::on_switched(const dispatch::Choice& from, const dispatch::Choice& to,
                          const dispatch::Why& why) {
  note("switched", switched_data(from, to, why));
  if (why.rule == dispatch::DispatchRule::breaker) return;  // Logged when the breaker opened.
  report_why(fmt::format("switches from backend {} ({}) to {} ({})", from.backend, from.model,
                         to.backend, to.model),
             why);
}

void TurnRun::on_breaker(const dispatch::Choice& choice, bool is_open) {
  note(is_open ? "breaker.opened" : "breaker.closed", backend_data(choice));
  report(fmt::format("{} the circuit breaker of backend {} ({})", is_open ? "opens" : "closes",
                     choice.backend, choice.model),
         is_open ? "it failed repeatedly (rule breaker)" : "it answers again (rule breaker)");
}

void TurnRun::on_given_up(const dispatch::Choice& choice, const dispatch::Why& why) {
  note("given_up", why_data(choice, why));
  report_why(fmt::format("fails after backend {} ({})", choice.backend, choice.model), why);
}

void TurnRun::report_why(std::string_view what, const dispatch::Why& why) const {
  report(what, fmt::format("{} (rule {})", why.reason, name_of(why.rule)));
}

void TurnRun::on_thinking(std::string_view delta) {
  if (!order_.begin.agent->show_thinking) return;
  thinking_ += delta;
  show_thinking(services_->now() >= thinking_shown_ + kThinkingPause);
}

// A model thinks in many small pieces: they are collected for a moment, or until they have some
// size.
void TurnRun::show_thinking(bool is_end) {
  if (is_end) thinking_shown_ = services_->now();
  std::string_view rest = thinking_;
  while (rest.size() >= kThinkingPiece || (is_end && !rest.empty())) {
    std::string_view piece = utf8_prefix(rest, kThinkingPiece);
    if (piece.empty()) piece = rest;  // No UTF-8.
    json::Writer data;
    data.begin_object().member("Text", repaired_utf8(piece)).end_object();
    on_progress("thinking", data.take());
    rest.remove_prefix(piece.size());
  }
  thinking_.erase(0, thinking_.size() - rest.size());
}

// A backend may make any number of steps; a diary has a last page.
void TurnRun::on_progress(std::string_view kind, std::string_view data) {
  if (progress_notes_ > kMostProgress) return;
  if (progress_notes_++ < kMostProgress) return note(kind, data);
  note("progress.dropped", fmt::format(R"({{"Kept":{}}})", kMostProgress));
}

void TurnRun::note(std::string_view kind, std::string_view data) {
  diary_.add(kind, services_->now(), data);
  services_->live.notify_diary(session());
}

}  // namespace treaty::turns
