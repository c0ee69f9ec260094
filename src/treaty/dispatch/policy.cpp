#include "treaty/dispatch/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

// AgentError::type of a backend that nobody listens at, or that hangs up.
constexpr std::array<std::string_view, 2> kNobodyThere = {"ConnectionRefused", "ConnectionReset"};
constexpr int kConnectAttempts = 2;

// Of a machine that stands until somebody sends a signal: neither time nor another backend helps,
// but the same request may be sent again afterwards.
constexpr std::string_view kWaitsOutside = "machine_waiting";

constexpr std::array<std::string_view, 3> kSpanWords = {"a minute or less", "an hour",
                                                        "a day or more"};
constexpr std::array<std::string_view, 6> kObstacleNames = {"window",      "retry_after", "breaker",
                                                            "concurrency", "warm_up",     "line"};

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
      return fmt::format("the provider asked for a wait of {}", seconds_text(delay.wait));
    case Obstacle::breaker:
      return fmt::format("the backend failed repeatedly, and its circuit breaker is open for {}",
                         seconds_text(delay.wait));
    case Obstacle::concurrency: return "as many calls as it may have at a time are running";
    case Obstacle::warm_up: return "its limits are not known before the first answers";
    case Obstacle::line: return "others came before";
  }
  return "";
}

// What cannot be waited for: the next backend, or the end.
CallDecision leave(const Situation& situation, std::string reason) {
  const bool has_time = situation.left > 0;
  if (situation.has_next && has_time) return {.act = Act::move_on, .reason = std::move(reason)};
  return {.act = Act::fail, .reason = std::move(reason)};
}

std::optional<Seconds> retry_after_of(const AgentResult& result) {
  if (!result.rate_limit || !result.rate_limit->retry_after) return std::nullopt;
  const double seconds = result.rate_limit->retry_after->value();
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

bool is_nobody_there(const contracts::AgentError& error) {
  return error.type && std::ranges::find(kNobodyThere, *error.type) != kNobodyThere.end();
}

CallDecision after_retryable(const AgentResult& result, const Situation& situation) {
  const auto& error = *result.error;
  const std::string code = error.code.value_or("");
  if (situation.attempts >= situation.policy.max_attempts) {
    return leave(situation, fmt::format("{} again after {} attempts", code, situation.attempts));
  }
  if (is_nobody_there(error) && situation.has_next && situation.attempts >= kConnectAttempts) {
    return leave(situation, "nobody answers there, and there is another backend");
  }
  Seconds wait = backoff_after(situation.policy, situation.attempts);
  if (result.rate_limit && result.rate_limit->limited) {
    if (const auto delay = delay_of(*result.rate_limit)) {
      const CallDecision decision = decide_before(*delay, situation);
      if (decision.act != Act::wait) return decision;
      wait = std::max(wait, delay->wait);
    }
  }
  wait = std::max(wait, retry_after_of(result).value_or(0));
  wait *= 1 + situation.policy.jitter * situation.dice;
  if (wait > situation.left) {
    return leave(situation, fmt::format("{}, and the deadline leaves no time to try again", code));
  }
  return {.act = Act::wait,
          .wait = wait,
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

CallDecision decide_before(const Delay& delay, const Situation& situation) {
  const std::string words = words_of(delay);
  CallDecision wait{.act = Act::wait, .wait = delay.wait, .reason = words};
  if (delay.is_unknown()) {
    const bool is_patient = !situation.has_next || situation.waited < situation.policy.max_wait;
    if (is_patient && situation.left > 0) return wait;
    return leave(situation, words + (situation.left > 0 ? "; that takes longer than max_wait"
                                                        : "; the deadline is over"));
  }
  const bool in_time = delay.wait <= situation.left;
  const bool is_soon = delay.wait <= situation.policy.max_wait;
  // Whoever is left alone for being ill has a substitute that is not.
  if (delay.obstacle == Obstacle::breaker && situation.has_next) return leave(situation, words);
  // Nobody waits for one backend again and again when there is another.
  if (situation.has_next && situation.waited + delay.wait > situation.policy.max_wait) {
    return leave(situation, words + "; that is longer than max_wait");
  }
  switch (delay.span) {
    case Span::minute: break;
    case Span::hour:
      if (situation.has_next) return leave(situation, words);
      if (in_time) return wait;
      return leave(situation, words + "; the deadline is before that");
    case Span::day:
      if (situation.has_next) return leave(situation, words);
      break;
  }
  if (is_soon && in_time) return wait;
  return leave(situation, words + (in_time ? "; that is longer than max_wait"
                                           : "; the deadline is before that"));
}

CallDecision decide_after(const AgentResult& result, const Situation& situation) {
  if (!result.error) return {};
  const auto& error = *result.error;
  if (!error.code) return {.act = Act::fail, .reason = "cancelled"};
  if (situation.was_heard) {
    return {.act = Act::fail, .reason = "the client has some of the answer already"};
  }
  if (*error.code == kWaitsOutside) return {.act = Act::fail, .reason = "it waits for a signal"};
  if (error.retryable.value_or(false)) return after_retryable(result, situation);
  return leave(situation, fmt::format("{}, which does not pass by itself", *error.code));
}

Seconds backoff_after(const Policy& policy, int attempts) {
  if (policy.backoff.empty() || attempts <= 0) return 0;
  const auto last = policy.backoff.size() - 1;
  return policy.backoff[std::min(static_cast<std::size_t>(attempts - 1), last)];
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
