// How a call waits: for its place in the queue of a pool, for limits, for a backoff.
#include <algorithm>
#include <utility>

#include "treaty/dispatch/call_run.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kTooLate = "the turn did not end within its deadline";

// A wait that lasts so much longer than it was said to is told again.
constexpr Seconds kNoticeable = 1;

// The code of the failure that keeps a call from being made.
std::string_view code_of(Obstacle obstacle) {
  return obstacle == Obstacle::breaker ? "server_error" : "rate_limit";
}

}  // namespace

CallRun::QueueTicket::~QueueTicket() {
  if (is_running_) {
    pool_->drop(place_);
  } else {
    pool_->leave(place_);
  }
}

std::optional<Delay> CallRun::QueueTicket::ask(double bytes, const Policy& policy, Moment now,
                                               const std::shared_ptr<Waker>& waker) {
  auto delay = pool_->ask(place_, bytes, policy, now, waker);
  is_running_ = !delay;
  return delay;
}

Breaker::Told CallRun::QueueTicket::tell(double bytes, const contracts::AgentResult& result,
                                         const Policy& policy, Moment now) {
  is_running_ = false;
  return pool_->tell(place_, bytes, result, policy, now);
}

// `finish`: the backoff is over.
asio::awaitable<CallDecision> CallRun::wait_for_backoff(QueueTicket& ticket, int attempts,
                                                        Moment not_before) {
  const Moment began = now();
  while (now() < not_before) {
    if (is_cancelled()) co_return CallDecision{.act = Act::fail};
    // Registered first: a breaker that opens between the look and the wait notifies.
    ticket.doze(waiter().waker());
    if (attempts > 0 && ticket.pool().is_open(now()) && next_after("server_error")) {
      co_return CallDecision{.act = Act::move_on,
                             .rule = DispatchRule::breaker,
                             .reason = "its breaker opened meanwhile"};
    }
    co_await pause(not_before);
  }
  waited_ += now() - began;
  co_return CallDecision{.act = Act::finish};
}

// Most calls need not wait, nor the memory to wait with.
bool CallRun::may_go_at_once(QueueTicket& ticket, const Choice& choice) {
  const Moment at = now();
  return !is_cancelled() && at < order_.deadline && !ticket.ask(bytes_, choice.policy, at, waker());
}

// `finish`: the backend may be asked, and the pool counts on it.
asio::awaitable<CallDecision> CallRun::wait_for_backend(QueueTicket& ticket, const Choice& choice,
                                                        int attempts) {
  Moment looked = now();
  std::optional<Delay> told;  // The last obstacle,
  unsigned told_kinds = 0;    // the kinds that the observer knows,
  Moment told_until = 0;      // and when it was said to end.
  while (true) {
    if (is_cancelled()) co_return CallDecision{.act = Act::fail};
    if (now() >= order_.deadline) {
      if (attempts == 0) fail_too_late(choice, told);
      co_return CallDecision{
          .act = Act::fail, .rule = DispatchRule::deadline, .reason = std::string(kTooLate)};
    }
    const auto delay = ticket.ask(bytes_, choice.policy, now(), waker());
    if (!delay) {
      waited_ += now() - looked;
      co_return CallDecision{.act = Act::finish};
    }
    if (!waiter_) {
      waiter();  // Most calls never need one. The line is joined with it at the next look.
      continue;
    }
    waited_ += now() - std::exchange(looked, now());
    const CallDecision decision =
        decide_before(*delay, situation(choice, attempts, code_of(delay->obstacle)));
    if (decision.act != Act::wait) {
      if (attempts == 0) fail_unasked(*delay, decision);
      co_return decision;
    }
    // Once for each kind of obstacle: those who wait together meet one after the other again.
    const auto kind = static_cast<std::size_t>(delay->obstacle);
    const bool is_longer = !delay->is_unknown && delay->wait > kNoticeable &&
                           now() + delay->wait > told_until + kNoticeable;
    if (!(told_kinds & (1U << kind)) || is_longer) {
      note(choice, decision);
      observer_.on_waiting(choice, delay->is_unknown ? 0 : delay->wait,
                           {decision.rule, decision.reason});
      if (!delay->is_unknown) told_until = now() + delay->wait;
    }
    told_kinds |= 1U << kind;
    told = delay;
    co_await pause(std::min(now() + decision.wait, order_.deadline));
  }
}

asio::awaitable<void> CallRun::pause(Moment until) {
  co_await dispatcher_.pools().clock().wait_until(waiter(), steady_at(until));
}

Waiter& CallRun::waiter() {
  if (!waiter_) waiter_.emplace(executor_);
  return *waiter_;
}

// The backend was not asked at all.
void CallRun::fail_unasked(const Delay& delay, const CallDecision& decision) {
  result_ = backends::failed_result(std::string(code_of(delay.obstacle)),
                                    std::string(name_of(delay.obstacle)), decision.reason, true);
  result_.rate_limit = contracts::RateLimitState{.limited = true, .retry_after = delay.wait};
}

// Nor will it be: the deadline has come before it was free.
void CallRun::fail_too_late(const Choice& choice, const std::optional<Delay>& told) {
  if (told) {
    const Situation here = situation(choice, 0, code_of(told->obstacle));
    return fail_unasked(*told, decide_before(*told, here));
  }
  result_ = {};
  set_deadline_error();
}

void CallRun::set_deadline_error() {
  result_.error = contracts::AgentError{
      .message = std::string(kTooLate), .code = "timeout", .type = "Deadline", .retryable = true};
  result_.finish_reason = "error";
}

}  // namespace treaty::dispatch
