#include "treaty/dispatch/quota/window.h"

#include <algorithm>
#include <cmath>

#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {
namespace {

// A shorter time to the reset, or less that is gone, tells too little about the rate.
constexpr Seconds kTellingReset = 5;
constexpr double kTellingPart = 0.05;

// Rates that differ by less are the same: resets are told in whole seconds.
constexpr double kSameRate = 0.15;

constexpr int kVotes = 2;
constexpr int kMostVotes = 4;

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  requests += other.requests;
  input_tokens += other.input_tokens;
  output_tokens += other.output_tokens;
  return *this;
}

Cost& Cost::operator-=(const Cost& other) {
  requests = std::max(requests - other.requests, 0.0);
  input_tokens = std::max(input_tokens - other.input_tokens, 0.0);
  output_tokens = std::max(output_tokens - other.output_tokens, 0.0);
  return *this;
}

std::optional<Window> Window::make(const contracts::RateLimitWindow& told, Moment now) {
  Window window;
  window.named = length_of_window(told.name);
  auto read = window.read(told, now);
  if (!read) return std::nullopt;
  read->name = told.name;
  read->resource = told.resource;
  return read;
}

std::optional<Window> Window::read(const contracts::RateLimitWindow& told, Moment now) const {
  if (!told.remaining) return std::nullopt;
  Window window;
  window.named = named;
  window.remaining = std::max(told.remaining->value(), 0.0);
  // A limit below what is left of it is none.
  if (told.limit && told.limit->value() > 0 && told.limit->value() >= window.remaining) {
    window.limit = told.limit->value();
  }
  const Seconds reset = std::clamp(reset_of(told, named), 0.0, kLongestReset);
  window.seen = now;
  window.resets = now + reset;
  window.length = named > 0 ? named : std::max(reset, 1.0);
  return window;
}

void Window::tell(const Window& newer) {
  weigh(newer);
  // Full earlier than was said: what was said before is not to be trusted.
  const bool is_revised = has_passed(newer.seen) || newer.resets < resets - kTellingReset;
  length = named > 0 || is_revised ? newer.length : std::max(length, newer.length);
  limit = newer.limit;
  remaining = newer.remaining;
  seen = newer.seen;
  resets = newer.resets;
  told_by = newer.told_by;
  asked = newer.asked;
}

void Window::weigh(const Window& newer) {
  const Seconds to_full = newer.resets - newer.seen;
  if (!newer.limit || to_full < kTellingReset) return;
  const double taken = *newer.limit - newer.remaining;
  if (taken < kTellingPart * *newer.limit) return;
  const double newer_rate = taken / to_full;
  const bool is_same = limit && *limit == *newer.limit && weighed_to_full > 0;
  const bool has_passed_since = newer.seen >= weighed_at + weighed_to_full;
  if (is_same && !has_passed_since) {
    const bool says_something = std::abs(taken - weighed_taken) > 2 * kTellingPart * *newer.limit ||
                                newer.seen - weighed_at > weighed_to_full / 4;
    if (!says_something) {
      if (refills) rate = newer_rate;
      return;
    }
    const double before = weighed_taken / weighed_to_full;
    const bool agrees = std::abs(newer_rate - before) <= kSameRate * std::max(newer_rate, before);
    votes = std::clamp(votes + (agrees ? 1 : -1), -kMostVotes, kMostVotes);
  }
  weighed_at = newer.seen;
  weighed_taken = taken;
  weighed_to_full = to_full;
  rate = newer_rate;
  refills = votes >= kVotes;
}

double Window::share_of(const Cost& cost) const {
  if (resource == "requests") return cost.requests;
  if (resource == "input_tokens") return cost.input_tokens;
  if (resource == "output_tokens") return cost.output_tokens;
  if (resource == "tokens") return cost.input_tokens + cost.output_tokens;
  return 0;  // Of pictures and the like a call may need none: it waits only when there are none.
}

double Window::level(Moment now) const {
  const double refilled = refills ? rate * std::max(now - seen, 0.0) : 0;
  const double left = remaining - used + refilled;
  // Nobody owes more than all of it: more is a provider's mistake about usage.
  return limit ? std::clamp(left, -*limit, *limit) : left;
}

Moment Window::free_at(double ahead, double share, Moment now) const {
  const double left = level(now);
  const double own = limit ? std::min(share, *limit) : share;  // More would never fit.
  // An estimate is no reason to leave the rest of an hour or a day unused.
  const bool is_enough =
      span_of(reach(now)) == Span::minute ? left >= ahead + own && left > 0 : left > ahead;
  if (is_enough) return now;
  if (refills) return now + std::clamp((ahead + own - left) / rate, 0.0, kLongestReset);
  const Seconds behind = limit ? ahead / *limit * length : 0;
  return std::max(resets, now) + behind;
}

Seconds Window::reach(Moment now) const { return named > 0 ? named : std::max(resets - now, 0.0); }

Seconds Window::gap(double share) const {
  if (refills || !limit || span_of(length) != Span::minute) return 0;
  return std::min(share, *limit) / *limit * length;
}

void Window::begin_anew(Moment now) {
  if (refills && limit) {
    // What was sent meanwhile is still missing, and nothing flows into a full bucket.
    remaining = level(now);
    used = 0;
    seen = now;
    resets = now + std::clamp((*limit - remaining) / rate, 1.0, kLongestReset);
    return;
  }
  remaining = limit.value_or(remaining);
  seen = resets;
  const Seconds step = std::max(length, 1.0);
  if (now - resets >= step) seen = resets + std::floor((now - resets) / step) * step;
  resets = seen + step;
}

}  // namespace treaty::dispatch
