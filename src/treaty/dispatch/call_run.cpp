#include "treaty/dispatch/call_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;

constexpr std::string_view kCancelled = "Cancelled";
constexpr std::string_view kDeadline = "Deadline";
constexpr std::string_view kTooLate = "the turn did not end within its deadline";

// How soon a budget is looked at again that others have set aside for themselves.
constexpr Seconds kBudgetGlance = 0.05;

constexpr std::size_t kMostLimits = 8;

// The deadline is kept by another timer: within this it is the same one.
constexpr Seconds kSameMoment = 0.005;

// A model that goes on where another one was cut.
constexpr const char* kGoOn =
    "Your answer above was cut off. Go on exactly where it ends, without repeating any of it and "
    "without a remark about the interruption.";

AgentResult failure(std::string code, std::string type, std::string message, bool retryable) {
  return {.finish_reason = "error",
          .error = AgentError{.message = std::move(message),
                              .code = std::move(code),
                              .type = std::move(type),
                              .retryable = retryable}};
}

AgentResult aborted() {
  return {.finish_reason = "aborted",
          .error = AgentError{.message = "the call was cancelled",
                              .type = std::string(kCancelled),
                              .retryable = false}};
}

// The code of the failure that keeps a call from being made.
std::string_view code_of(Obstacle obstacle) {
  return obstacle == Obstacle::breaker ? "server_error" : "rate_limit";
}

bool was_cancelled(const AgentResult& result) { return result.error && !result.error->code; }

}  // namespace

void CallRun::Hearing::on_text(std::string_view delta) {
  bytes += delta.size();
  if (keeps_ && streams_) text += delta;
  sink_.on_text(delta);
}

CallRun::Visit::~Visit() {
  if (is_running_) {
    pool_->drop(place_);
  } else {
    pool_->leave(place_);
  }
}

std::optional<Standing> CallRun::Visit::ask(double bytes, const Policy& policy, Moment now,
                                            const std::shared_ptr<Alarm>& alarm) {
  auto standing = pool_->ask(place_, bytes, policy, now, alarm);
  is_running_ = !standing;
  return standing;
}

Breaker::Told CallRun::Visit::tell(double bytes, const AgentResult& result, const Policy& policy,
                                   Moment now) {
  is_running_ = false;
  return pool_->tell(place_, bytes, result, policy, now);
}

CallRun::CallRun(Dispatcher& dispatcher, const CallOrder& order, backends::Call call,
                 backends::Sink& sink, Observer& observer)
    : dispatcher_(dispatcher),
      time_(dispatcher.pools().time()),
      order_(order),
      call_(std::move(call)),
      bytes_(bytes_of(call_)),
      hearing_(sink, call_.stream, order.continues_cuts),
      observer_(observer),
      chain_(order_of(order.chain, [&] { return dispatcher.dice(); })) {}

asio::awaitable<Dispatched> CallRun::run() {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call has its result, too.
  executor_ = co_await asio::this_coro::executor;
  Dispatched dispatched;
  result_ = failure("model_unavailable", "NoBackend", "the agent has no backend to ask", false);
  while (at_ < chain_.size() && !chain_[at_]->on.empty()) ++at_;
  while (at_ < chain_.size()) {
    const Choice& choice = *chain_[at_];
    Decision decision = co_await stay_at(choice);
    if (decision.act == Act::finish || was_cancelled(result_)) break;
    const auto next = next_after(result_.error ? result_.error->code.value_or("") : "");
    const bool was_cut = hearing_.streams() && hearing_.bytes > heard_at_entry_;
    if (was_cut && order_.continues_cuts && next && now() < order_.deadline) {
      begin_continuation();
      dispatched.was_continued = true;
      decision.act = Act::move_on;
    }
    if (decision.act != Act::move_on || !next) break;
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
asio::awaitable<Decision> CallRun::stay_at(const Choice& choice) {
  heard_at_entry_ = hearing_.bytes;
  const auto source = dispatcher_.sources_.find(choice.backend);
  if (source == dispatcher_.sources_.end()) {
    result_ = failure("model_unavailable", "NoBackend",
                      fmt::format("no backend is named {}", choice.backend), false);
    co_return decide_after(result_, situation(choice, 1, "model_unavailable"));
  }
  Visit visit(dispatcher_.pool_of(choice, source->second));
  Moment not_before = 0;
  for (int attempts = 0;;) {
    const Decision admitted = co_await wait_for_backend(visit, choice, attempts, not_before);
    if (admitted.act != Act::finish) co_return admitted;
    if (!co_await attempt(visit, choice, source->second, ++attempts)) {
      co_return Decision{.act = Act::fail, .reason = result_.error->message};
    }
    const std::string code = result_.error ? result_.error->code.value_or("") : "";
    const Decision decision = decide_after(result_, situation(choice, attempts, code));
    if (decision.act != Act::wait) co_return decision;
    observer_.on_waiting(choice, decision.wait, decision.reason);
    not_before = now() + decision.wait;
  }
}

// `finish`: the backend may be asked, and the pool counts on it.
asio::awaitable<Decision> CallRun::wait_for_backend(Visit& visit, const Choice& choice,
                                                    int attempts, Moment not_before) {
  while (now() < not_before) {
    if (co_await is_cancelled()) co_return Decision{.act = Act::fail};
    // Registered first: a breaker that opens between the look and the wait rings.
    visit.doze(alarm());
    if (attempts > 0 && visit.pool().is_open(now()) && next_after("server_error")) {
      co_return Decision{.act = Act::move_on, .reason = "its breaker opened meanwhile"};
    }
    co_await pause(not_before);
  }
  const Moment began = now();
  std::optional<Standing> told;  // The last obstacle that the observer knows.
  while (true) {
    if (co_await is_cancelled()) co_return Decision{.act = Act::fail};
    if (now() >= order_.deadline) {
      if (attempts == 0) fail_too_late(choice, told);
      co_return Decision{.act = Act::fail, .reason = std::string(kTooLate)};
    }
    const auto standing = visit.ask(bytes_, choice.policy, now(), alarm_);
    if (!standing) co_return Decision{.act = Act::finish};
    if (!alarm_) {
      alarm();  // Most calls never need one. The line is joined with it at the next look.
      continue;
    }
    Situation here = situation(choice, attempts, code_of(standing->obstacle));
    here.waited = now() - began;
    Decision decision = decide_before(*standing, here);
    if (decision.act != Act::wait) {
      if (attempts == 0) fail_unasked(*standing, decision);
      co_return decision;
    }
    if (!told || told->obstacle != standing->obstacle || told->window != standing->window) {
      observer_.on_waiting(choice, standing->wait, decision.reason);
      told = standing;
    }
    co_await pause(std::min(now() + standing->wait, order_.deadline));
  }
}

// False: it could not be paid for, and was not made.
asio::awaitable<bool> CallRun::attempt(Visit& visit, const Choice& choice, const Source& source,
                                       int attempts) {
  call_.model = choice.model;
  call_.max_output_tokens = choice.max_output_tokens;
  call_.temperature = choice.temperature;
  std::optional<SetAside> aside;
  if (!order_.budgets.empty()) {
    aside = co_await set_aside(choice, source, visit.pool());
    if (!aside) co_return false;  // The visit gives the place back.
    call_.max_output_tokens = aside->reservation.output_tokens;
  }
  const std::size_t heard_before = hearing_.bytes;
  const Moment began = now();
  observer_.on_attempt_started(choice, attempts);
  result_ = co_await source.backend->run(call_, hearing_);
  if (was_cancelled(result_) && now() + kSameMoment >= order_.deadline) {
    result_.error = AgentError{.message = std::string(kTooLate),
                               .code = "timeout",
                               .type = std::string(kDeadline),
                               .retryable = true};
    result_.finish_reason = "error";
  }
  totals_.add(result_);
  const Breaker::Told told = visit.tell(bytes_, result_, choice.policy, now());
  observer_.on_attempt_ended(choice, attempts, now() - began, result_);
  if (told.opened || told.closed) observer_.on_breaker(choice, told.opened);
  if (aside) co_await settle(*aside, heard_before);
  co_return true;
}

// Nothing: there is no budget for it, or nobody knows; result_ says so.
asio::awaitable<std::optional<CallRun::SetAside>> CallRun::set_aside(const Choice& choice,
                                                                     const Source& source,
                                                                     const Pool& pool) {
  const auto& services = dispatcher_.services_;
  const double unix_now = time_.unix_now();
  std::optional<results::Price> price;
  if (services.prices != nullptr) {
    price = services.prices->find(source.provider_kind, choice.model, unix_now);
  }
  SetAside aside{.purchase =
                     purchase_of(call_, choice, pool.estimate(), price, order_.budgets, unix_now)};
  while (true) {
    const auto reserved = co_await services.store->reserve(aside.purchase);
    if (!reserved) {
      result_ = failure("store_unavailable", "Store", "the budget cannot be read now", true);
      co_return std::nullopt;
    }
    if (const auto* granted = std::get_if<store::Reservation>(&*reserved)) {
      aside.reservation = *granted;
      co_return aside;
    }
    const auto& exhausted = std::get<store::Exhausted>(*reserved);
    const bool may_wait = exhausted.may_come_back && now() + kBudgetGlance < order_.deadline;
    if (!may_wait || co_await is_cancelled()) {
      if (!was_cancelled(result_)) fail_by_budget(exhausted);
      co_return std::nullopt;
    }
    co_await pause(now() + kBudgetGlance);
  }
}

// What cannot be settled now stays set aside, and counts as spent.
asio::awaitable<void> CallRun::settle(const SetAside& aside, std::size_t heard_before) {
  const auto heard = static_cast<double>(hearing_.bytes - heard_before);
  co_await dispatcher_.services_.store->settle_reservation(
      aside.reservation.id, spent_by(result_, aside.purchase, heard));
}

asio::awaitable<bool> CallRun::is_cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() == asio::cancellation_type::none) co_return false;
  result_ = aborted();
  co_return true;
}

asio::awaitable<void> CallRun::pause(Moment until) { co_await alarm()->wait_until(until); }

const std::shared_ptr<Alarm>& CallRun::alarm() {
  if (!alarm_) alarm_ = time_.alarm(executor_);
  return alarm_;
}

Situation CallRun::situation(const Choice& choice, int attempts, std::string_view code) {
  return {.policy = choice.policy,
          .attempts = attempts,
          .left = order_.deadline - now(),
          .has_next = next_after(code).has_value(),
          .was_heard = hearing_.streams() && hearing_.bytes > heard_at_entry_,
          .dice = dispatcher_.dice()};
}

std::optional<std::size_t> CallRun::next_after(std::string_view code) const {
  return next_of(chain_, at_ + 1, code);
}

// The backend was not asked at all.
void CallRun::fail_unasked(const Standing& standing, const Decision& decision) {
  result_ = failure(std::string(code_of(standing.obstacle)),
                    std::string(name_of(standing.obstacle)), decision.reason, true);
  result_.rate_limit = contracts::RateLimitState{.limited = true, .retry_after = standing.wait};
}

// Nor will it be: the deadline has come before it was free.
void CallRun::fail_too_late(const Choice& choice, const std::optional<Standing>& told) {
  if (told) {
    const Situation here = situation(choice, 0, code_of(told->obstacle));
    return fail_unasked(*told, decide_before(*told, here));
  }
  result_ = failure("timeout", std::string(kDeadline), std::string(kTooLate), true);
}

void CallRun::fail_by_budget(const store::Exhausted& exhausted) {
  const Seconds wait = until_next_day(time_.unix_now());
  result_ = failure("budget_exhausted", "Budget",
                    fmt::format("the budget of {} for today is spent", exhausted.scope), true);
  result_.rate_limit = contracts::RateLimitState{.limited = true, .retry_after = wait};
  for (const auto& limit : order_.budgets) {
    if (limit.scope != exhausted.scope || !limit.tokens) continue;
    const auto left = *limit.tokens - exhausted.spent.tokens - exhausted.reserved.tokens;
    limits_.push_back({.name = "tokens_per_day",
                       .quota = static_cast<double>(*limit.tokens),
                       .window = 86'400,
                       .remaining = static_cast<double>(std::max<std::int64_t>(left, 0)),
                       .resets_in = wait});
  }
}

// The next backend is told what was said, and goes on from there.
void CallRun::begin_continuation() {
  spoken_before_ = hearing_.text;
  call_.messages.push_back(backends::AssistantMessage{.text = hearing_.text});
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
  for (const auto& window : pool->view(now()).windows) {
    if (dispatched.limits.size() == kMostLimits) break;
    dispatched.limits.push_back({.name = window.name,
                                 .quota = window.limit,
                                 .window = window.length,
                                 .remaining = window.remaining,
                                 .resets_in = window.resets_in});
  }
}

}  // namespace treaty::dispatch
