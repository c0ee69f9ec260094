#include "treaty/dispatch/call_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;

constexpr std::string_view kDeadline = "Deadline";
constexpr std::string_view kTooLate = "the turn did not end within its deadline";

// A call that the deadline cuts sooner says nothing about its backend.
constexpr Seconds kTimeToAnswer = 10;

constexpr std::size_t kMostLimits = 8;

// A wait that lasts so much longer than it was said to is told again.
constexpr Seconds kNoticeable = 1;

// The deadline is kept by another timer: within this it is the same one.
constexpr Seconds kSameMoment = 0.005;

// A model that goes on where another one was cut.
constexpr const char* kGoOn =
    "Your answer above was cut off. Go on exactly where it ends, without repeating any of it and "
    "without a remark about the interruption.";

// The code of the failure that keeps a call from being made.
std::string_view code_of(Obstacle obstacle) {
  return obstacle == Obstacle::breaker ? "server_error" : "rate_limit";
}

void set_deadline_error(AgentResult& result) {
  result.error = AgentError{.message = std::string(kTooLate),
                            .code = "timeout",
                            .type = std::string(kDeadline),
                            .retryable = true};
  result.finish_reason = "error";
}

bool was_cancelled(const AgentResult& result) { return result.error && !result.error->code; }

}  // namespace

void CallRun::CountingSink::on_text(std::string_view delta) {
  bytes += delta.size();
  if (keeps_ && streams_) text += delta;
  sink_.on_text(delta);
}

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

Breaker::Told CallRun::QueueTicket::tell(double bytes, const AgentResult& result,
                                         const Policy& policy, Moment now) {
  is_running_ = false;
  return pool_->tell(place_, bytes, result, policy, now);
}

CallRun::CallRun(Dispatcher& dispatcher, const CallOrder& order, backends::Call call,
                 backends::Sink& sink, Observer& observer)
    : dispatcher_(dispatcher),
      order_(order),
      call_(std::move(call)),
      bytes_(bytes_of(call_)),
      client_sink_(sink, call_.stream, order.continues_cuts),
      observer_(observer),
      chain_(order_of(order.chain, [&] { return dispatcher.dice(); })) {}

asio::awaitable<Dispatched> CallRun::run() {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call has its result, too.
  executor_ = co_await asio::this_coro::executor;
  cancellation_ = co_await asio::this_coro::cancellation_state;
  Dispatched dispatched;
  result_ = backends::failed_result("model_unavailable", "NoBackend",
                                    "the agent has no backend to ask", false);
  while (at_ < chain_.size() && !chain_[at_]->on.empty()) ++at_;
  while (at_ < chain_.size()) {
    const Choice& choice = *chain_[at_];
    CallDecision decision = co_await stay_at(choice);
    if (decision.act == Act::finish || was_cancelled(result_)) break;
    const auto next = next_after(result_.error ? result_.error->code.value_or("") : "");
    const bool was_cut = client_sink_.streams() && client_sink_.bytes > bytes_at_entry_;
    if (was_cut && order_.continues_cuts && next && now() < order_.deadline) {
      begin_continuation();
      dispatched.was_continued = true;
      decision.act = Act::move_on;
    }
    if (decision.act != Act::move_on || !next) {
      if (!decision.reason.empty()) observer_.on_given_up(choice, decision.reason);
      break;
    }
    observer_.on_switched(choice, *chain_[*next], decision.reason);
    at_ = *next;
  }
  totals_.give_to(result_);
  if (dispatched.was_continued && !result_.error) {
    result_.content = spoken_before_ + result_.content.value_or("");
  }
  dispatched.result = std::move(result_);
  tell_when_to_return(dispatched);
  co_return dispatched;
}

// Until the backend has answered, or is left.
asio::awaitable<CallDecision> CallRun::stay_at(const Choice& choice) {
  bytes_at_entry_ = client_sink_.bytes;
  const auto source = dispatcher_.sources_.find(choice.backend);
  if (source == dispatcher_.sources_.end()) {
    result_ = backends::failed_result("model_unavailable", "NoBackend",
                                      fmt::format("no backend is named {}", choice.backend), false);
    co_return decide_after(result_, situation(choice, 1, "model_unavailable"));
  }
  QueueTicket ticket(dispatcher_.pool_of(choice, source->second));
  Moment not_before = 0;
  for (int attempts = 0;;) {
    if (not_before > 0) {
      const CallDecision rested = co_await wait_for_backoff(ticket, attempts, not_before);
      if (rested.act != Act::finish) co_return rested;
    }
    std::optional<SetAside> aside;
    if (!order_.budgets.empty()) {
      aside = co_await set_aside(choice, source->second, ticket.pool());
      if (!aside) co_return CallDecision{.act = Act::fail, .reason = result_.error->message};
    }
    const CallDecision admitted = may_go_at_once(ticket, choice)
                                      ? CallDecision{.act = Act::finish}
                                      : co_await wait_for_backend(ticket, choice, attempts);
    if (admitted.act != Act::finish) {
      if (aside) co_await settle(*aside, {});
      co_return admitted;
    }
    const auto heard_before = static_cast<double>(client_sink_.bytes);
    call_.max_output_tokens =
        aside ? std::optional(aside->reservation.output_tokens) : choice.max_output_tokens;
    co_await attempt(ticket, choice, source->second, ++attempts);
    if (aside) {
      const double heard = static_cast<double>(client_sink_.bytes) - heard_before;
      co_await settle(*aside, spent_by(result_, aside->purchase, heard));
    }
    const std::string code = result_.error ? result_.error->code.value_or("") : "";
    const CallDecision decision = decide_after(result_, situation(choice, attempts, code));
    if (decision.act != Act::wait) co_return decision;
    observer_.on_waiting(choice, decision.wait, decision.reason);
    not_before = now() + decision.wait;
  }
}

// `finish`: the backoff is over.
asio::awaitable<CallDecision> CallRun::wait_for_backoff(QueueTicket& ticket, int attempts,
                                                        Moment not_before) {
  while (now() < not_before) {
    if (is_cancelled()) co_return CallDecision{.act = Act::fail};
    // Registered first: a breaker that opens between the look and the wait notifies.
    ticket.doze(waiter().waker());
    if (attempts > 0 && ticket.pool().is_open(now()) && next_after("server_error")) {
      co_return CallDecision{.act = Act::move_on, .reason = "its breaker opened meanwhile"};
    }
    co_await pause(not_before);
  }
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
  const Moment began = now();
  std::optional<Delay> told;  // The last obstacle,
  unsigned told_kinds = 0;    // the kinds that the observer knows,
  Moment told_until = 0;      // and when it was said to end.
  while (true) {
    if (is_cancelled()) co_return CallDecision{.act = Act::fail};
    if (now() >= order_.deadline) {
      if (attempts == 0) fail_too_late(choice, told);
      co_return CallDecision{.act = Act::fail, .reason = std::string(kTooLate)};
    }
    const auto delay = ticket.ask(bytes_, choice.policy, now(), waker());
    if (!delay) co_return CallDecision{.act = Act::finish};
    if (!waiter_) {
      waiter();  // Most calls never need one. The line is joined with it at the next look.
      continue;
    }
    Situation here = situation(choice, attempts, code_of(delay->obstacle));
    here.waited = now() - began;
    CallDecision decision = decide_before(*delay, here);
    if (decision.act != Act::wait) {
      if (attempts == 0) fail_unasked(*delay, decision);
      co_return decision;
    }
    // Once for each kind of obstacle: those who wait together meet one after the other again.
    const auto kind = static_cast<std::size_t>(delay->obstacle);
    const bool is_longer = !delay->is_unknown() && delay->wait > kNoticeable &&
                           now() + delay->wait > told_until + kNoticeable;
    if (!(told_kinds & (1U << kind)) || is_longer) {
      observer_.on_waiting(choice, delay->is_unknown() ? 0 : delay->wait, decision.reason);
      if (!delay->is_unknown()) told_until = now() + delay->wait;
    }
    told_kinds |= 1U << kind;
    told = delay;
    co_await pause(std::min(now() + delay->wait, order_.deadline));
  }
}

asio::awaitable<void> CallRun::attempt(QueueTicket& ticket, const Choice& choice,
                                       const Source& source, int attempts) {
  call_.model = choice.model;
  call_.temperature = choice.temperature;
  const Moment began = now();
  observer_.on_attempt_started(choice, attempts);
  result_ = co_await source.backend->run(call_, client_sink_);
  const Moment ended = now();
  const bool is_late = was_cancelled(result_) && ended + kSameMoment >= order_.deadline;
  // A backend that had little time has not failed by that: it hears of a cancelled call.
  if (is_late && ended - began >= kTimeToAnswer) set_deadline_error(result_);
  const Breaker::Told told = ticket.tell(bytes_, result_, choice.policy, ended);
  if (is_late) set_deadline_error(result_);
  totals_.add(result_);
  observer_.on_attempt_ended(choice, attempts, ended - began, result_);
  if (told.opened || told.closed) observer_.on_breaker(choice, told.opened);
}

bool CallRun::is_cancelled() {
  if (cancellation_.cancelled() == asio::cancellation_type::none) return false;
  result_ = backends::aborted_result();
  return true;
}

asio::awaitable<void> CallRun::pause(Moment until) {
  co_await dispatcher_.pools().clock().wait_until(waiter(), steady_at(until));
}

Waiter& CallRun::waiter() {
  if (!waiter_) waiter_.emplace(executor_);
  return *waiter_;
}

Situation CallRun::situation(const Choice& choice, int attempts, std::string_view code) {
  return {.policy = choice.policy,
          .attempts = attempts,
          .left = order_.deadline - now(),
          .has_next = next_after(code).has_value(),
          .was_heard = client_sink_.streams() && client_sink_.bytes > bytes_at_entry_,
          .dice = dispatcher_.dice()};
}

std::optional<std::size_t> CallRun::next_after(std::string_view code) const {
  return next_of(chain_, at_ + 1, code);
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
  result_ = backends::failed_result("timeout", std::string(kDeadline), std::string(kTooLate), true);
}

// The next backend is told what was said, and goes on from there.
void CallRun::begin_continuation() {
  spoken_before_ = client_sink_.text;
  if (!asked_before_) asked_before_ = call_.messages;
  call_.messages = *asked_before_;
  call_.messages.push_back(backends::AssistantMessage{.text = client_sink_.text});
  call_.messages.push_back(backends::UserMessage{{backends::TextPart{kGoOn}}});
}

// When a backend of the chain may be free: for the client that is sent away.
void CallRun::tell_when_to_return(Dispatched& dispatched) const {
  auto& result = dispatched.result;
  dispatched.limits = limits_;
  if (!result.error || !result.error->retryable.value_or(false)) return;
  if (result.error->code == "budget_exhausted") return;
  const Seconds free = dispatcher_.next_free(order_.chain);
  if (result.error->code == "rate_limit" || free > 0) {
    if (!result.rate_limit) result.rate_limit.emplace();
    result.rate_limit->retry_after = std::max(free, 1.0);
  }
  if (at_ >= chain_.size()) return;
  const auto source = dispatcher_.sources_.find(chain_[at_]->backend);
  if (source == dispatcher_.sources_.end()) return;
  const auto pool = dispatcher_.pool_of(*chain_[at_], source->second);
  for (LimitLine& window : pool->view(now()).windows) {
    if (dispatched.limits.size() == kMostLimits) break;
    dispatched.limits.push_back(std::move(window));
  }
}

}  // namespace treaty::dispatch
