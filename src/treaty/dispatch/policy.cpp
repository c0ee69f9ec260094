#include "treaty/dispatch/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "treaty/backends/failure_types.h"

namespace treaty::dispatch {
namespace {

using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

constexpr Seconds kMinute = 60;
constexpr Seconds kHour = 3'600;
constexpr Seconds kOneDay = 86'400;
constexpr Seconds kMonth = 30 * kOneDay;

// Of an exhausted window that does not say when it is full again, and whose name does not either.
constexpr Seconds kUnknownReset = 60;

// Of a machine that waits for a signal: neither time nor another backend helps, but the same
// request may be sent again afterwards.
constexpr std::string_view kWaitsOutside = "machine_waiting";

constexpr std::array<std::string_view, 3> kSpanWords = {"a minute or less", "an hour",
                                                        "a day or more"};
constexpr std::array<std::string_view, 6> kObstacleNames = {"window",      "retry_after", "breaker",
                                                            "concurrency", "warm_up",     "line"};

// Waits are compared with this tolerance: a long wait is looked at several times.
constexpr Seconds kTolerance = 0.01;

// A backoff that does not fit into max_wait is shortened, at most to this part of it.
constexpr double kLeastBackoff = 0.5;

constexpr std::array<std::string_view, 16> kRuleNames = {
    "none",    "pacing",   "retry",         "max_wait", "max_attempts", "long_window",
    "breaker", "timeout",  "not_retryable", "deadline", "on_cut",       "signal",
    "prefill", "thoughts", "budget",        "stream"};

std::string seconds_text(Seconds seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", std::ceil(seconds * 1'000));
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string words_of(const Delay& delay) {
  switch (delay.obstacle) {
    case Obstacle::window:
      return fmt::format("the window {} ({}) is used up for {}", delay.window,
                         kSpanWords[static_cast<std::size_t>(delay.span)],
                         seconds_text(delay.wait));
    case Obstacle::retry_after:
      return fmt::format("a rate limit blocks the backend for {}", seconds_text(delay.wait));
    case Obstacle::breaker:
      return fmt::format("the backend failed repeatedly, and its circuit breaker is open for {}",
                         seconds_text(delay.wait));
    case Obstacle::concurrency: return "as many calls as it may have at a time are running";
    case Obstacle::warm_up: return "its limits are not known before the first answers";
    case Obstacle::line: return "others came before";
  }
  return "";
}

bool is_over(const Situation& situation) { return situation.left <= kSameMoment; }

// What cannot be waited for: the next backend, or the end.
CallDecision leave(const Situation& situation, DispatchRule rule, std::string reason) {
  const Act act = situation.has_next && !is_over(situation) ? Act::move_on : Act::fail;
  return {.act = act, .rule = rule, .reason = std::move(reason)};
}

Seconds left_to_wait(const Situation& situation) {
  return max_wait_of(situation.policy, situation.has_next) - situation.waited;
}

// Why a wait does not fit.
CallDecision leave_wait(const Situation& situation, const std::string& words, bool in_time) {
  if (!in_time)
    return leave(situation, DispatchRule::deadline, words + "; the deadline is before that");
  return leave(situation, DispatchRule::max_wait,
               fmt::format("{}; that does not fit into max_wait ({})", words,
                           seconds_text(max_wait_of(situation.policy, situation.has_next))));
}

std::optional<Seconds> retry_after_of(const AgentResult& result) {
  if (!result.rate_limit || !result.rate_limit->retry_after) return std::nullopt;
  const double seconds = result.rate_limit->retry_after->value();
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

// What the provider asks for, as a floor of the wait; a decision when that is too long.
std::variant<Seconds, CallDecision> asked_wait(const AgentResult& result,
                                               const Situation& situation) {
  const Seconds asked = retry_after_of(result).value_or(0);
  std::optional<Delay> delay;
  if (result.rate_limit && result.rate_limit->limited) delay = delay_of(*result.rate_limit);
  if (!delay && asked > 0) {
    delay = Delay{.obstacle = Obstacle::retry_after, .wait = asked, .span = span_of(asked)};
  }
  if (!delay) return 0.0;
  CallDecision decision = decide_before(*delay, situation);
  if (decision.act != Act::wait) return decision;
  return std::max(delay->wait, asked);
}

CallDecision after_retryable(const AgentResult& result, const Situation& situation) {
  const auto& error = *result.error;
  const std::string code = error.code.value_or("");
  if (is_over(situation)) {
    return leave(situation, DispatchRule::deadline,
                 fmt::format("{}, and the deadline of the turn has passed", code));
  }
  if (situation.attempts >= max_attempts_of(situation.policy, situation.has_next)) {
    return leave(situation, DispatchRule::max_attempts,
                 situation.attempts == 1
                     ? fmt::format("{}, and max_attempts allows one attempt", code)
                     : fmt::format("{} again after {} attempts", code, situation.attempts));
  }
  if (situation.has_next && is_own_timeout(error)) {
    return leave(situation, DispatchRule::timeout, error.message);
  }
  const auto asked = asked_wait(result, situation);
  if (const auto* decision = std::get_if<CallDecision>(&asked)) return *decision;
  const Seconds least = std::get<Seconds>(asked);
  const Seconds backoff = backoff_after(situation.policy, situation.attempts, situation.has_next);
  Seconds wait = std::max(backoff, least) * (1 + situation.policy.jitter * situation.dice);
  if (const Seconds fits = left_to_wait(situation); wait > fits) {
    if (fits < backoff * kLeastBackoff && least < backoff) {
      return leave_wait(situation,
                        fmt::format("{}: the next attempt is due in {}", code, seconds_text(wait)),
                        true);
    }
    wait = std::max(least, fits);
  }
  if (wait > situation.left) {
    return leave(situation, DispatchRule::deadline,
                 fmt::format("{}, and the deadline leaves no time for another attempt", code));
  }
  return {.act = Act::wait,
          .wait = wait,
          .rule = DispatchRule::retry,
          .reason = fmt::format("{}: trying again in {}", code, seconds_text(wait))};
}

}  // namespace

Span span_of(Seconds length) {
  if (length <= kMinute) return Span::minute;
  return length <= kHour ? Span::hour : Span::day;
}

std::string_view name_of(Obstacle obstacle) {
  return kObstacleNames[static_cast<std::size_t>(obstacle)];
}

std::string_view name_of(DispatchRule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

const Patience& default_patience(bool has_next) {
  static const Patience patient{.max_wait = 60, .max_attempts = 5, .backoff = {2, 8, 16, 35}};
  static const Patience hasty{.max_wait = 10, .max_attempts = 2, .backoff = {0.5}};
  return has_next ? hasty : patient;
}

Seconds max_wait_of(const Policy& policy, bool has_next) {
  return policy.max_wait.value_or(default_patience(has_next).max_wait);
}

int max_attempts_of(const Policy& policy, bool has_next) {
  return policy.max_attempts.value_or(default_patience(has_next).max_attempts);
}

Policy effective_policy(Policy policy, bool has_next, Pace pace) {
  constexpr Seconds kSoon = 10;
  policy.max_wait = max_wait_of(policy, has_next);
  policy.max_attempts = max_attempts_of(policy, has_next);
  if (!policy.backoff) policy.backoff = default_patience(has_next).backoff;
  if (pace == Pace::own) return policy;
  if (!policy.connect) policy.connect = kConnect;
  if (!policy.first_token) policy.first_token = has_next && pace == Pace::fast ? kSoon : kMinute;
  if (!policy.stall) policy.stall = kStall;
  return policy;
}

CallDecision decide_before(const Delay& delay, const Situation& situation) {
  const std::string words = words_of(delay);
  CallDecision wait{
      .act = Act::wait, .wait = delay.wait, .rule = DispatchRule::pacing, .reason = words};
  if (delay.is_unknown) {
    if (is_over(situation)) {
      return leave(situation, DispatchRule::deadline, words + "; the deadline has passed");
    }
    wait.wait = std::min(delay.wait, left_to_wait(situation));
    // Less than that may be no time at all on the clock.
    return wait.wait > kTolerance ? wait : leave_wait(situation, words, true);
  }
  // A backend that is left alone because it fails has a substitute.
  if (delay.obstacle == Obstacle::breaker && situation.has_next) {
    return leave(situation, DispatchRule::breaker, words);
  }
  if (delay.span != Span::minute && situation.has_next) {
    return leave(situation, DispatchRule::long_window, words);
  }
  const bool in_time = delay.wait <= situation.left;
  const bool is_waited_for =
      delay.span == Span::hour || delay.wait <= left_to_wait(situation) + kTolerance;
  if (in_time && is_waited_for) return wait;
  return leave_wait(situation, words, in_time);
}

CallDecision decide_after(const AgentResult& result, const Situation& situation) {
  if (!result.error) return {};
  const auto& error = *result.error;
  if (!error.code) return {.act = Act::fail, .reason = "cancelled"};
  if (situation.was_heard) {
    const std::string cut = is_own_timeout(error) ? error.message : "the answer was cut";
    if (is_over(situation)) {
      return {.act = Act::fail,
              .rule = DispatchRule::deadline,
              .reason = "the answer was cut, and the deadline of the turn has passed"};
    }
    if (situation.continues_cuts && situation.has_next) {
      return {.act = Act::move_on,
              .rule = DispatchRule::on_cut,
              .reason = fmt::format("{}, and another backend can continue it", cut)};
    }
    return {
        .act = Act::fail,
        .rule = DispatchRule::on_cut,
        .reason = fmt::format("{} after the client got part of it, and {}", cut,
                              situation.continues_cuts ? "no other backend is left to continue it"
                                                       : "on_cut is fail")};
  }
  if (*error.code == kWaitsOutside) {
    return {.act = Act::fail, .rule = DispatchRule::signal, .reason = "it waits for a signal"};
  }
  if (error.retryable.value_or(false)) return after_retryable(result, situation);
  return leave(situation, DispatchRule::not_retryable,
               fmt::format("{}, which another attempt does not change", *error.code));
}

Seconds backoff_after(const Policy& policy, int attempts, bool has_next) {
  const auto& backoff = policy.backoff ? *policy.backoff : default_patience(has_next).backoff;
  if (backoff.empty() || attempts <= 0) return 0;
  return backoff[std::min(static_cast<std::size_t>(attempts - 1), backoff.size() - 1)];
}

bool is_own_timeout(const contracts::AgentError& error) {
  return error.code == "timeout" && error.type && backends::failure_types::is_timeout(*error.type);
}

bool is_own_fault(std::string_view code) {
  return code == "context_length" || code == "content_filter" || code == "invalid_request";
}

Seconds length_of_window(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Seconds>, 6> kLengths = {{
      {"10_second", 10},
      {"second", 1},
      {"minute", kMinute},
      {"hour", kHour},
      {"day", kOneDay},
      {"month", kMonth},
  }};
  for (const auto& [word, length] : kLengths) {
    if (name.contains(word)) return length;
  }
  return 0;
}

Seconds reset_of(const RateLimitWindow& window, Seconds named) {
  if (window.resets_in) return window.resets_in->value();
  return named > 0 ? named : kUnknownReset;
}

std::optional<Delay> delay_of(const RateLimitState& state) {
  std::optional<Delay> longest;
  for (const RateLimitWindow& window : state.windows) {
    if (!window.remaining || window.remaining->value() > 0) continue;
    const Seconds length = length_of_window(window.name);
    const Seconds reset = reset_of(window, length);
    const Delay delay{.obstacle = Obstacle::window,
                      .wait = std::max(reset, 0.0),
                      .span = span_of(length > 0 ? length : reset),
                      .window = window.name};
    if (!longest || delay.wait > longest->wait) longest = delay;
  }
  const Seconds asked = state.retry_after ? state.retry_after->value() : 0;
  if (!longest) {
    if (asked <= 0) return std::nullopt;
    return Delay{.obstacle = Obstacle::retry_after, .wait = asked, .span = span_of(asked)};
  }
  // A bucket that refills is full much later than there is room for one call: what the provider
  // asks for counts, where it asks.
  if (asked > 0) longest->wait = asked;
  return longest;
}

}  // namespace treaty::dispatch
