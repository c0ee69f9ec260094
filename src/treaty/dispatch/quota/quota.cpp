#include "treaty/dispatch/quota/quota.h"

#include <algorithm>
#include <cmath>

namespace treaty::dispatch {
namespace {

using contracts::AgentResult;

constexpr std::size_t kMostSent = 4'096;     // Older calls are in the windows by then.
constexpr std::size_t kMostUncounted = 256;  // As long as there are no windows.

// After a 429 that asks for no wait, or for none to speak of.
constexpr Seconds kLeastBlock = 1;

// Calls that are sent within this may come in at the provider in another order: who is told what is
// left may not have been told of those sent before.
constexpr Seconds kOvertaking = 0.5;

// Resets that differ by less are the same: they are told in whole seconds.
constexpr Seconds kSameReset = 1.5;

// How much a new answer counts against what was learnt before.
constexpr double kFreshInput = 0.2;
constexpr double kFreshOutput = 0.1;
constexpr double kMostTokensPerByte = 4;
constexpr double kMostFixedTokens = 100'000;

// A shorter text says nothing about tokens a byte: most of its tokens are the provider's own.
constexpr double kTellingBytes = 400;

// Whether everybody has to wait for what the provider asks for. Other failures may quote whatever a
// user wrote.
bool is_about_all(const contracts::AgentError& error) {
  constexpr int kUnavailable = 503;
  constexpr int kOverloaded = 529;
  return error.code == "rate_limit" || error.status_code == kUnavailable ||
         error.status_code == kOverloaded;
}

double blend(double before, double now, double weight) { return before + weight * (now - before); }

}  // namespace

bool is_refused(const AgentResult& result) {
  return result.error && result.error->code == "rate_limit";
}

void TokenEstimate::learn(double bytes, const contracts::UsageInfo& usage) {
  const double input =
      static_cast<double>(std::max<std::int64_t>(usage.input_tokens.value_or(0), 0));
  const double output =
      static_cast<double>(std::max<std::int64_t>(usage.output_tokens.value_or(0), 0));
  if (input <= 0 && output <= 0) return;
  if (bytes >= kTellingBytes && input > 0) {
    const double ratio =
        std::min(std::max(input - fixed_tokens, input / 2) / bytes, kMostTokensPerByte);
    tokens_per_byte = has_learnt ? blend(tokens_per_byte, ratio, kFreshInput) : ratio;
  } else if (input > 0) {
    const double around = std::clamp(input - bytes * tokens_per_byte, 0.0, kMostFixedTokens);
    fixed_tokens = has_learnt ? blend(fixed_tokens, around, kFreshInput) : around;
  }
  output_tokens = has_learnt ? blend(output_tokens, output, kFreshOutput) : output;
  has_learnt = true;
}

std::optional<Delay> Quota::delay(const Cost& ahead, const Cost& cost, Moment now) const {
  std::optional<Delay> longest;
  if (now < blocked_until) {
    const Seconds wait = blocked_until - now;
    longest = Delay{.obstacle = Obstacle::retry_after, .wait = wait, .span = span_of(wait)};
  }
  for (const Window& window : windows) {
    const Seconds wait = window.free_at(window.share_of(ahead), window.share_of(cost), now) - now;
    if (wait <= 0 || (longest && wait < longest->wait)) continue;
    longest = Delay{.obstacle = Obstacle::window,
                    .wait = wait,
                    .span = span_of(window.named > 0 ? window.named : wait),
                    .window = window.name};
  }
  return longest;
}

std::uint64_t Quota::send(const Cost& cost, Moment now) {
  ++last_number_;
  sent_.push_back({.number = last_number_, .at = now, .cost = cost});
  if (sent_.size() > (windows.empty() ? kMostUncounted : kMostSent)) sent_.pop_front();
  for (Window& window : windows) window.used += window.share_of(cost);
  return last_number_;
}

void Quota::tell(std::uint64_t call, const AgentResult& result, Moment now) {
  const Sent telling{.number = call, .at = correct(call, result).value_or(now)};
  if (const auto& state = result.rate_limit) {
    for (const auto& told : state->windows) take(told, telling, now);
    if (!state->windows.empty()) last_told_ = std::max(last_told_, call);
    const Seconds asked = state->retry_after ? state->retry_after->value() : 0;
    if (result.error && is_about_all(*result.error) && state->limited && asked > 0) {
      blocked_until = std::max(blocked_until, now + std::min(asked, kLongestBlock));
    }
  }
  if (is_refused(result) && result.error->retryable.value_or(false)) {
    blocked_until = std::max(blocked_until, now + kLeastBlock);
  }
  forget_reflected();
}

void Quota::take(const contracts::RateLimitWindow& told, const Sent& telling, Moment now) {
  const auto known = std::ranges::find_if(windows, [&](const Window& window) {
    return window.name == told.name && window.resource == told.resource;
  });
  const bool is_known = known != windows.end();
  if (!is_known && windows.size() == kMostWindows) return;
  auto window = is_known ? known->read(told, now) : Window::make(told, now);
  if (!window) return;
  window->told_by = telling.number;
  window->asked = telling.at;
  if (!is_known) {
    windows.push_back(*std::move(window));
  } else if (telling.number >= known->told_by) {
    known->tell(*window);
  } else if (!known->refills && known->asked - telling.at <= kOvertaking &&
             std::abs(known->resets - window->resets) < kSameReset) {
    known->remaining = std::min(known->remaining, window->remaining);
  }
  Window& kept = is_known ? *known : windows.back();
  kept.used = used_since(kept, 0);
}

// A call that was refused took nothing; one that was answered took what the answer says. Answers
// when it was sent; nothing when that is long ago.
std::optional<Moment> Quota::correct(std::uint64_t call, const AgentResult& result) {
  const auto sent = std::ranges::lower_bound(sent_, call, {}, &Sent::number);
  if (sent == sent_.end() || sent->number != call) return std::nullopt;
  Cost cost = sent->cost;
  if (is_refused(result)) cost = {0, 0, 0};
  if (result.usage && result.usage->input_tokens) {
    cost.input_tokens = static_cast<double>(*result.usage->input_tokens);
  }
  if (result.usage && result.usage->output_tokens) {
    cost.output_tokens = static_cast<double>(*result.usage->output_tokens);
  }
  for (Window& window : windows) {
    if (call <= window.told_by || sent->at < window.seen) continue;
    window.used += window.share_of(cost) - window.share_of(sent->cost);
  }
  sent->cost = cost;
  sent->is_answered = true;
  return sent->at;
}

// By calls that the one which told the window cannot know of: those after it, and those before it
// that it may have overtaken.
double Quota::used_since(const Window& window, Moment from) const {
  double used = 0;
  for (auto sent = sent_.rbegin(); sent != sent_.rend(); ++sent) {
    const bool is_later = sent->number > window.told_by;
    if (!is_later && sent->at < window.asked - kOvertaking) break;
    if (sent->at < from || (!is_later && sent->is_answered)) continue;
    used += window.share_of(sent->cost);
  }
  return used;
}

void Quota::forget_reflected() {
  if (windows.empty()) return;
  const auto& oldest = *std::ranges::min_element(windows, {}, &Window::told_by);
  while (!sent_.empty() && sent_.front().number <= oldest.told_by) {
    const bool is_known =
        sent_.front().is_answered || sent_.front().at < oldest.asked - kOvertaking;
    if (!is_known) break;
    sent_.pop_front();
  }
}

Seconds Quota::gap(const Cost& cost) const {
  Seconds longest = 0;
  for (const Window& window : windows) {
    longest = std::max(longest, window.gap(window.share_of(cost)));
  }
  return longest;
}

void Quota::advance(Moment now) {
  std::erase_if(windows,
                [&](const Window& window) {  // Newer answers tell other windows: this one is gone.
                  return window.has_passed(now) && (!window.limit || window.told_by < last_told_);
                });
  for (Window& window : windows) {
    if (!window.has_passed(now)) continue;
    window.begin_anew(now);
    window.used = used_since(window, window.seen);
  }
}

}  // namespace treaty::dispatch
