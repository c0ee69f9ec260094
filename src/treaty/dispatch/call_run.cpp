#include "treaty/dispatch/call_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cmath>

#include "treaty/base/text.h"
#include "treaty/dispatch/watched_run.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;

// A call that the deadline cuts sooner says nothing about its backend.
constexpr Seconds kTimeToAnswer = 10;

constexpr std::size_t kMostLimits = 8;

// For a model that does not continue an answer: the answer so far is its own last message.
constexpr const char* kAskWhole =
    "The connection broke while your answer above was being sent. Write the whole answer again: "
    "first repeat the text above exactly, character by character, and then continue it to its end. "
    "Do not mention the interruption.";

constexpr std::string_view kNotContinued = "CutNotContinued";

// Before a backend gets a third request.
constexpr Seconds kRest = 1;

// Whether a message has thoughts that the backend gets, or, if not `own`, of this turn that it does
// not get because they are another model's.
bool has_thoughts(const backends::Messages& messages, const std::string& author, bool own) {
  bool found = false;
  for (const backends::Message& message : messages) {
    const auto* said = std::get_if<backends::AssistantMessage>(&message);
    if (!own && std::holds_alternative<backends::UserMessage>(message)) found = false;
    if (said == nullptr || said->thoughts.parts.empty()) continue;
    found = found || (said->thoughts.author == author) == own;
  }
  return found;
}

// The messages that ask a backend to continue the text that has left.
backends::Messages continuing(const backends::Messages& asked, std::string_view heard,
                              AnswerJoin::Form form) {
  backends::Messages messages = asked;
  if (form == AnswerJoin::Form::rest) {
    // Providers refuse a last message that ends in white space.
    const std::size_t last = heard.find_last_not_of(" \t\r\n");
    heard = heard.substr(0, last == std::string_view::npos ? 0 : last + 1);
    if (!heard.empty()) messages.push_back(backends::AssistantMessage{.text = std::string(heard)});
    return messages;
  }
  messages.push_back(backends::AssistantMessage{.text = std::string(heard)});
  messages.push_back(backends::UserMessage{{backends::TextPart{kAskWhole}}});
  return messages;
}

// "streaming is not supported", but not "the upstream server".
bool is_about_streams(std::string_view message) {
  const std::size_t at = find_folded(message, "stream");
  return at != std::string_view::npos && (at == 0 || !is_letter(message[at - 1]));
}

std::chrono::milliseconds milliseconds(Seconds seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1'000));
}

bool was_cancelled(const AgentResult& result) { return result.error && !result.error->code; }

}  // namespace

CallRun::CallRun(Dispatcher& dispatcher, const CallOrder& order, backends::Call call,
                 backends::Sink& sink, Observer& observer)
    : dispatcher_(dispatcher),
      order_(order),
      call_(std::move(call)),
      reasoning_(call_.reasoning),
      caches_(call_.caches),
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
    const CallDecision decision = co_await stay_at(choice);
    if (decision.act == Act::finish || was_cancelled(result_)) break;
    note(choice, decision);
    const auto next = next_after(result_.error ? result_.error->code.value_or("") : "");
    if (decision.act != Act::move_on || !next) {
      if (!decision.reason.empty()) observer_.on_given_up(choice, {decision.rule, decision.reason});
      break;
    }
    if (decision.rule == DispatchRule::on_cut && !asked_before_) asked_before_ = call_.messages;
    observer_.on_switched(choice, *chain_[*next], {decision.rule, decision.reason});
    at_ = *next;
  }
  totals_.give_to(result_);
  dispatched.was_continued = asked_before_.has_value();
  if (!result_.error) {
    if (dispatched.was_continued) result_.content = client_sink_.text();
    keep_thoughts(dispatched);
  }
  dispatched.result = std::move(result_);
  tell_when_to_return(dispatched);
  co_return dispatched;
}

// Of an answer that two backends gave, nobody's thoughts can be sent back.
void CallRun::keep_thoughts(Dispatched& dispatched) {
  backends::Thoughts thoughts = client_sink_.take_thoughts();
  dispatched.refused_author = refused_author_;
  if (!dispatched.was_continued) {
    dispatched.thoughts = std::move(thoughts);
  } else if (!thoughts.parts.empty() && result_.tool_calls && !result_.tool_calls->empty()) {
    observer_.on_thoughts_dropped(*chain_[at_],
                                  {DispatchRule::thoughts, "another backend began this answer"});
  }
}

// Until the backend has answered, or is left.
asio::awaitable<CallDecision> CallRun::stay_at(const Choice& choice) {
  left_at_entry_ = client_sink_.left();
  waited_ = 0;
  asks_whole_ = false;
  asks_plain_ = false;
  call_.sends_thoughts = true;
  const auto source = dispatcher_.sources_.find(choice.backend);
  if (source == dispatcher_.sources_.end()) {
    result_ = backends::failed_result("model_unavailable", "NoBackend",
                                      fmt::format("no backend is named {}", choice.backend), false);
    co_return decide_after(result_, situation(choice, 1, "model_unavailable"));
  }
  if (chain_.size() > 1) asked_pools_.emplace_back(dispatcher_.pool_key_of(choice));
  call_.author = source->second.author.empty()
                     ? ""
                     : fmt::format("{}/{}", source->second.author, choice.model);
  if (has_thoughts(asked_before_ ? *asked_before_ : call_.messages, call_.author, false)) {
    observer_.on_thoughts_dropped(
        choice, {DispatchRule::thoughts, "the thoughts of this turn are another model's"});
  }
  QueueTicket ticket(dispatcher_.pool_of(choice, source->second));
  co_return co_await stay_at(choice, source->second, ticket);
}

asio::awaitable<CallDecision> CallRun::stay_at(const Choice& choice, const Source& source,
                                               QueueTicket& ticket) {
  Moment not_before = 0;
  for (int attempts = 0;;) {
    if (not_before > 0) {
      const CallDecision rested = co_await wait_for_backoff(ticket, attempts, not_before);
      if (rested.act != Act::finish) co_return rested;
    }
    prepare(choice, source);
    std::optional<SetAside> aside;
    if (!order_.budgets.empty()) {
      aside = co_await set_aside(choice, source, ticket.pool());
      if (!aside) {
        co_return CallDecision{
            .act = Act::fail, .rule = DispatchRule::budget, .reason = result_.error->message};
      }
    }
    const CallDecision admitted = may_go_at_once(ticket, choice)
                                      ? CallDecision{.act = Act::finish}
                                      : co_await wait_for_backend(ticket, choice, attempts);
    if (admitted.act != Act::finish) {
      if (aside) co_await settle(*aside, {});
      co_return admitted;
    }
    const auto came_before = static_cast<double>(client_sink_.came());
    call_.max_output_tokens = choice.max_output_tokens;
    if (aside) limit_output(*aside);
    co_await attempt(ticket, choice, source, ++attempts);
    if (aside) {
      const double came = static_cast<double>(client_sink_.came()) - came_before;
      co_await settle(*aside, spent_by(result_, aside->purchase, came));
    }
    if (is_no_continuation_) {
      co_return CallDecision{
          .act = Act::fail, .rule = DispatchRule::on_cut, .reason = result_.error->message};
    }
    if (result_.error) take_back();
    if (const auto why = other_way(source)) {
      observer_.on_asked_again(choice, *why);
      not_before = attempts > 1 ? now() + kRest : 0;
      continue;
    }
    const std::string code = result_.error ? result_.error->code.value_or("") : "";
    const Situation now_here = situation(choice, attempts, code);
    CallDecision decision = decide_after(result_, now_here);
    if (decision.act != Act::wait) co_return decision;
    // A limit that delays the next attempt for longer decides instead.
    const auto limit = ticket.pool().limit(bytes_, choice.policy, now());
    if (limit && limit->wait > decision.wait) {
      decision = decide_before(*limit, now_here);
      if (decision.act != Act::wait) co_return decision;
    }
    note(choice, decision);
    observer_.on_waiting(choice, decision.wait, {decision.rule, decision.reason});
    not_before = now() + decision.wait;
  }
}

// To what was reserved: without a limit of its own, or where less was left than it wanted.
void CallRun::limit_output(const SetAside& aside) {
  const std::int64_t reserved = aside.reservation.output_tokens;
  if (!call_.max_output_tokens || reserved < aside.purchase.output_tokens) {
    call_.max_output_tokens = reserved;
  }
}

// The client has not been shown anything of the text that it was given: the call begins again.
void CallRun::take_back() {
  if (client_sink_.take_back()) left_at_entry_ = 0;
}

// A request that was refused for what it adds to the client's own is made without that, once.
std::optional<Why> CallRun::other_way(const Source& source) {
  if (!result_.error || result_.error->code != "invalid_request") return std::nullopt;
  if (client_sink_.left() > left_at_entry_ || now() >= order_.deadline) return std::nullopt;
  if (asked_before_ && !asks_whole_ && continues_answers(source)) {
    asks_whole_ = true;
    return Why{DispatchRule::prefill,
               "it does not continue an answer: it is asked for the whole answer"};
  }
  if (call_.sends_thoughts && has_thoughts(call_.messages, call_.author, true)) {
    call_.sends_thoughts = false;
    refused_author_ = call_.author;
    return Why{
        DispatchRule::thoughts,
        "it refused the request, which held thoughts of the model: it is asked without them"};
  }
  if (call_.stream && !client_sink_.streams() && is_about_streams(result_.error->message)) {
    asks_plain_ = true;
    return Why{DispatchRule::stream,
               "it refused to stream the answer, so it is asked for an unstreamed one"};
  }
  return std::nullopt;
}

asio::awaitable<void> CallRun::attempt(QueueTicket& ticket, const Choice& choice,
                                       const Source& source, int attempts) {
  client_sink_.begin_attempt(form_);
  const Moment began = now();
  observer_.on_attempt_started(choice, attempts);
  const Policy& policy = choice.policy;
  if (source.pace == Pace::own && (policy.first_token || policy.stall)) {
    result_ =
        co_await run_watched(*source.backend, call_, client_sink_, dispatcher_.pools().clock(),
                             {.first_token = policy.first_token, .stall = policy.stall});
  } else {
    result_ = co_await source.backend->run(call_, client_sink_);
  }
  const Moment ended = now();
  const bool is_late = was_cancelled(result_) && ended + kSameMoment >= order_.deadline;
  // A backend that had little time has not failed by that: it hears of a cancelled call.
  if (is_late && ended - began >= kTimeToAnswer) set_deadline_error();
  // An answer that was ended here is no failure of the backend.
  std::optional<AgentError> error;
  if (!client_sink_.wants_more()) error = std::exchange(result_.error, std::nullopt);
  const Breaker::Told told = ticket.tell(bytes_, result_, choice.policy, ended);
  if (error) result_.error = std::move(error);
  if (is_late) set_deadline_error();
  settle_answer();
  totals_.add(result_);
  observer_.on_attempt_ended(choice, attempts, ended - began, result_);
  if (const std::string& why = client_sink_.thoughts_left_out(); !why.empty()) {
    observer_.on_thoughts_dropped(choice, {DispatchRule::thoughts, why});
  }
  if (told.opened || told.closed) observer_.on_breaker(choice, told.opened);
}

// The call as this backend gets it.
void CallRun::prepare(const Choice& choice, const Source& source) {
  call_.model = choice.model;
  call_.temperature = choice.temperature;
  call_.reasoning = choice.reasoning ? choice.reasoning : reasoning_;
  call_.caches = caches_ && choice.caches;
  call_.timeouts = {};
  call_.stream = client_sink_.streams();
  if (source.pace != Pace::own) {
    const bool has_next = next_after("timeout").has_value();
    const Pace pace = call_.reasoning ? Pace::slow : source.pace;
    const Policy policy = effective_policy(choice.policy, has_next, pace);
    call_.stream |= has_next && !asks_plain_;
    call_.timeouts.connect = milliseconds(*policy.connect);
    if (call_.stream) {
      call_.timeouts.first_token = milliseconds(*policy.first_token);
      call_.timeouts.stall = milliseconds(*policy.stall);
    }
  }
  form_.reset();
  if (asked_before_) {
    const bool asks_rest = !asks_whole_ && continues_answers(source);
    form_ = asks_rest ? AnswerJoin::Form::rest : AnswerJoin::Form::whole;
    call_.messages = continuing(*asked_before_, client_sink_.text(), *form_);
    bytes_ = bytes_of(call_);
  }
}

bool CallRun::continues_answers(const Source& source) const {
  return source.continues_answers && source.continues_answers(call_);
}

// An answer has to continue the text that has left.
void CallRun::settle_answer() {
  is_no_continuation_ = !client_sink_.end_attempt(result_.error.has_value(), result_.content);
  if (!is_no_continuation_) return;
  result_.finish_reason = "error";
  result_.error = AgentError{
      .message = form_ == AnswerJoin::Form::rest
                     ? "the answer was cut, and the backend that was asked to continue it began it "
                       "again and then said something else"
                     : "the answer was cut, and the backend that was asked for the whole answer "
                       "gave one that does not begin with the text already sent",
      .code = "server_error",
      .type = std::string(kNotContinued),
      .retryable = true};
}

bool CallRun::is_cancelled() {
  if (cancellation_.cancelled() == asio::cancellation_type::none) return false;
  result_ = backends::aborted_result();
  return true;
}

Situation CallRun::situation(const Choice& choice, int attempts, std::string_view code) {
  return {.policy = choice.policy,
          .attempts = attempts,
          .left = order_.deadline - now(),
          .waited = waited_,
          .has_next = next_after(code).has_value(),
          .was_heard = client_sink_.left() > left_at_entry_,
          .continues_cuts = order_.continues_cuts,
          .dice = dispatcher_.dice()};
}

// Entries that are the same pool as one that was asked are one backend, unless they are there for
// some failures only.
std::optional<std::size_t> CallRun::next_after(std::string_view code) const {
  for (auto next = next_of(chain_, at_ + 1, code); next; next = next_of(chain_, *next + 1, code)) {
    const Choice& choice = *chain_[*next];
    const std::string& key = dispatcher_.pool_key_of(choice);
    if (!choice.on.empty() || key.empty() ||
        std::ranges::find(asked_pools_, key) == asked_pools_.end())
      return next;
  }
  return std::nullopt;
}

// A budget is the tenant's or the agent's own business: other users of the pool do not see it.
void CallRun::note(const Choice& choice, const CallDecision& decision) {
  if (decision.rule == DispatchRule::budget) return;
  const auto source = dispatcher_.sources_.find(choice.backend);
  if (source == dispatcher_.sources_.end()) return;
  dispatcher_.pool_of(choice, source->second)->note(decision, now());
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
