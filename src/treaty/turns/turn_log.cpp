#include "treaty/turns/turn_log.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <charconv>

#include "treaty/base/ids.h"
#include "treaty/turns/settled_turn.h"

namespace treaty::turns {

namespace asio = boost::asio;

std::string Outcome::body_for(const Renderer& wanted, contracts::Dialect wanted_dialect) const {
  if (renderer == &wanted) {
    return dialect == wanted_dialect ? body : wanted.respell(body, wanted_dialect);
  }
  if (const auto* refusal = std::get_if<Refusal>(&source)) {
    return wanted.render(*refusal, wanted_dialect, new_uuid());
  }
  if (!std::holds_alternative<SettledTurn>(source)) return body;
  SettledTurn turn = std::get<SettledTurn>(source);
  turn.answer_id = new_uuid();
  return wanted.render(turn, wanted_dialect).body;
}

Outcome outcome_of(Refusal refusal, const Renderer& renderer, contracts::Dialect dialect) {
  return {.body = renderer.render(refusal, dialect, new_uuid()),
          .dialect = dialect,
          .renderer = &renderer,
          .error_code = std::string(code_of(refusal.reason)),
          .retry_after = retry_after_of(refusal),
          .source = std::move(refusal)};
}

void TurnLog::open(Opening opening, std::int64_t first_event) {
  {
    const MutexLock lock(mutex_);
    opening_ = std::move(opening);
    first_event_ = first_event;
  }
  changed_.notify_all();
}

void TurnLog::add(std::string_view delta) {
  bool visible = false;
  {
    const MutexLock lock(mutex_);
    text_ += delta;
    ends_.push_back(text_.size());
    visible = shows_deltas_;
  }
  if (visible) changed_.notify_all();
}

void TurnLog::show_deltas() {
  {
    const MutexLock lock(mutex_);
    shows_deltas_ = true;
  }
  changed_.notify_all();
}

void TurnLog::finish(std::shared_ptr<const Outcome> outcome) {
  {
    const MutexLock lock(mutex_);
    outcome_ = std::move(outcome);
  }
  changed_.notify_all();
}

std::string TurnLog::text() const {
  const MutexLock lock(mutex_);
  return text_;
}

// "3 5 2\n" and the text: the length of each delta, then all of them.
std::string TurnLog::deltas() const {
  const MutexLock lock(mutex_);
  if (ends_.empty()) return {};
  std::string out;
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    fmt::format_to(std::back_inserter(out), "{} ", end - begin);
    begin = end;
  }
  out.back() = '\n';
  return out + text_;
}

void TurnLog::restore_deltas(std::string_view journalled) {
  const std::size_t line = journalled.find('\n');
  if (line == std::string_view::npos) return;
  const std::string_view text = journalled.substr(line + 1);
  const MutexLock lock(mutex_);
  std::size_t end = 0;
  for (const char* at = journalled.data(); at < journalled.data() + line; ++at) {
    std::size_t length = 0;
    at = std::from_chars(at, journalled.data() + line, length).ptr;
    end = std::min(end + length, text.size());
    ends_.push_back(end);
  }
  text_ = text;
}

std::size_t TurnLog::count_deltas(std::string_view journalled) {
  const std::size_t line = journalled.find('\n');
  if (line == std::string_view::npos) return 0;
  return 1 + static_cast<std::size_t>(std::ranges::count(journalled.substr(0, line), ' '));
}

std::int64_t TurnLog::last_visible() const {
  if (!opening_) return outcome_ ? first_event_ : first_event_ - 1;  // A refusal has one event.
  const auto deltas = shows_deltas_ || outcome_ ? static_cast<std::int64_t>(ends_.size()) : 0;
  return first_event_ + deltas + (outcome_ ? 1 : 0);
}

// Ids count the events of a turn from 1. Every round has two that are not deltas: its start and its
// result. A round that ran more than once has used more ids: the index skips some, and never
// repeats.
std::int64_t TurnLog::index_of(std::int64_t id) const {
  return opening_ ? id - 2 * (opening_->round + 1) : 0;
}

std::vector<StreamEvent> TurnLog::after(std::int64_t last_id, std::size_t most) const {
  const MutexLock lock(mutex_);
  std::vector<StreamEvent> events;
  if (opening_ && last_id < first_event_) events.push_back({first_event_, *opening_});
  if (shows_deltas_ || outcome_) add_deltas(last_id, most, events);
  const std::int64_t told = events.empty() ? last_id : events.back().id;
  if (outcome_ && told < last_visible() && told >= last_visible() - 1) {
    events.push_back({last_visible(), outcome_, index_of(last_visible())});
  }
  return events;
}

void TurnLog::add_deltas(std::int64_t last_id, std::size_t most,
                         std::vector<StreamEvent>& events) const {
  // The delta with the index i has the id first_event_ + 1 + i.
  const auto seen = static_cast<std::size_t>(std::max<std::int64_t>(last_id - first_event_, 0));
  if (seen >= ends_.size()) return;
  const std::size_t begin = seen == 0 ? 0 : ends_[seen - 1];
  const bool lags = text_.size() - begin > most;
  const std::size_t enough = most / kPieces;
  for (std::size_t i = seen, from = begin; i < ends_.size(); ++i) {
    const bool is_last = i + 1 == ends_.size();
    if (lags && !is_last && ends_[i + 1] - from <= enough) continue;  // Joined with the next one.
    const std::int64_t id = first_event_ + 1 + static_cast<std::int64_t>(i);
    events.push_back({id, Delta{text_.substr(from, ends_[i] - from)}, index_of(id)});
    from = ends_[i];
    if (from - begin >= enough) return;  // The rest when this has been sent.
  }
}

asio::awaitable<bool> TurnLog::wait(std::int64_t last_id, std::chrono::milliseconds patience) {
  const auto is_there = [&] {
    const MutexLock lock(mutex_);
    return outcome_ != nullptr || last_visible() > last_id;
  };
  if (is_there()) co_return true;
  Waiter waiter(co_await asio::this_coro::executor);
  changed_.subscribe(waiter);
  if (is_there()) co_return true;
  co_return co_await waiter.wait_for(patience);
}

asio::awaitable<std::shared_ptr<const Outcome>> TurnLog::outcome() {
  if (auto outcome = outcome_now()) co_return outcome;
  Waiter waiter(co_await asio::this_coro::executor);
  changed_.subscribe(waiter);
  while (true) {
    if (auto outcome = outcome_now()) co_return outcome;
    co_await waiter.wait();
  }
}

std::optional<Opening> TurnLog::opening() const {
  const MutexLock lock(mutex_);
  return opening_;
}

std::shared_ptr<const Outcome> TurnLog::outcome_now() const {
  const MutexLock lock(mutex_);
  return outcome_;
}

std::int64_t TurnLog::first_event() const {
  const MutexLock lock(mutex_);
  return first_event_;
}

std::int64_t TurnLog::result_event() const {
  const MutexLock lock(mutex_);
  return first_event_ + static_cast<std::int64_t>(ends_.size()) + 1;
}

void restore(TurnLog& log, const std::string& session_id, const store::Turn& turn,
             const store::AnswerRecord& answer, const Renderer& renderer) {
  log.open({session_id, turn.turn_id, turn.mode, answer.round}, answer.first_event);
  log.restore_deltas(answer.deltas);
  Outcome outcome{.body = answer.body,
                  .dialect = answer.dialect,
                  .renderer = &renderer,
                  .error_code = answer.error_code};
  if (auto settled = decode_settled_turn(answer.result, answer.transcript)) {
    settled->session_id = session_id;
    settled->turn_id = turn.turn_id;
    settled->mode = turn.mode;
    outcome.source = *std::move(settled);
  }
  log.finish(std::move(outcome));
}

}  // namespace treaty::turns
