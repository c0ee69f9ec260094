#include "treaty/results/limits.h"

#include <algorithm>
#include <cmath>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/results/compat_limits.h"
#include "treaty/results/draft_limits.h"
#include "treaty/results/error_body.h"
#include "treaty/results/limit_headers.h"
#include "treaty/results/quota_body.h"
#include "treaty/results/reset_time.h"

namespace treaty::results {
namespace {

using contracts::RateLimitState;
using contracts::RateLimitWindow;

struct WindowName {
  std::string_view name;
  std::string_view resource;
  std::int64_t length = 0;  // Seconds until a reset that nobody tells: minute, hour and day only.
};

constexpr std::array<WindowName, kWindowSlotCount> kWindowNames = {{
    {"requests_per_10_second", "requests"},
    {"tokens_per_10_second", "tokens"},
    {"requests_per_minute", "requests", 60},
    {"tokens_per_minute", "tokens", 60},
    {"requests_per_hour", "requests", 3'600},
    {"tokens_per_hour", "tokens", 3'600},
    {"requests_per_day", "requests", 86'400},
    {"tokens_per_day", "tokens", 86'400},
    {"requests_per_month", "requests"},
    {"tokens_per_month", "tokens"},
    {"requests", "requests"},
    {"tokens", "tokens"},
    {"project_requests", "requests"},
    {"project_tokens", "tokens"},
    {"input_images", "input_images"},
    {"requests", "requests"},
    {"tokens", "tokens"},
    {"input_tokens", "input_tokens"},
    {"output_tokens", "output_tokens"},
    {"unified", "unified"},
    {"requests", "requests"},
    {"requests", "requests"},
    {"tokens", "tokens"},
}};

std::string_view name_of(std::size_t slot, PlainLimits plain) {
  if (plain == PlainLimits::day_requests_minute_tokens) {
    if (slot == kPlainRequests) return "requests_per_day";
    if (slot == kPlainTokens) return "tokens_per_minute";
  }
  return kWindowNames[slot].name;
}

// A reset in the past is 0.
Number seconds_until(double at, double now) {
  return Number(std::max(0.0, std::min(std::ceil(at - now), double{Duration::kLongest})));
}

void set_reset(RateLimitWindow& window, const ResetTime& reset, std::optional<double> now) {
  if (reset.after) {
    window.resets_in = Number(reset.after->rounded_up());
    if (now) window.reset_at = Number(*now + reset.after->value());
  } else if (reset.at) {
    window.reset_at = Number(*reset.at);
    if (now) window.resets_in = seconds_until(*reset.at, *now);
  }
}

bool has_window(const std::vector<RateLimitWindow>& windows, std::string_view name) {
  return std::ranges::any_of(windows, [&](const auto& window) { return window.name == name; });
}

void add_window(std::vector<RateLimitWindow>& windows, std::size_t slot, const WindowText& text,
                PlainLimits plain, std::optional<double> now) {
  std::optional<Number> remaining = parse_count(text.remaining);
  const std::optional<Number> limit = parse_count(text.limit);
  if (text.status == "rejected") remaining = Number(0);
  const std::string_view name = name_of(slot, plain);
  if ((!remaining && !limit) || has_window(windows, name)) return;
  RateLimitWindow& window = windows.emplace_back(RateLimitWindow{
      .name = std::string(name), .resource = std::string(kWindowNames[slot].resource)});
  window.remaining = remaining;
  window.limit = limit;
  if (const auto reset = parse_reset_time(text.reset)) {
    set_reset(window, *reset, now);
  } else if (const auto period = parse_duration(text.period)) {
    set_reset(window, {.after = period}, now);
  } else if (const std::int64_t length = kWindowNames[slot].length; length > 0) {
    set_reset(window, {.after = Duration{.seconds = length}}, now);
  }
}

void add_draft_windows(std::vector<RateLimitWindow>& windows, const LimitHeaders& found,
                       std::optional<double> now) {
  for (const DraftWindow& draft : parse_draft_windows(found.draft, found.draft_policy)) {
    if (has_window(windows, draft.name)) continue;
    RateLimitWindow& window =
        windows.emplace_back(RateLimitWindow{.name = draft.name, .resource = "requests"});
    window.remaining = draft.remaining;
    window.limit = draft.limit;
    if (draft.resets_in) {
      set_reset(window, {.after = Duration{.seconds = *draft.resets_in}}, now);
    }
  }
}

std::vector<RateLimitWindow> header_windows(const LimitHeaders& found, PlainLimits plain,
                                            std::optional<double> now) {
  std::vector<RateLimitWindow> windows;
  for (std::size_t slot = 0; slot < kWindowSlotCount; ++slot) {
    const WindowText& text = found.windows[slot];
    if (text.remaining.empty() && text.limit.empty() && text.status.empty()) continue;
    if (windows.empty()) windows.reserve(6);
    add_window(windows, slot, text, plain, now);
  }
  if (!found.draft.empty() || !found.draft_policy.empty()) {
    add_draft_windows(windows, found, now);
  }
  return windows;
}

void keep_largest(std::optional<double>& largest, std::optional<double> candidate) {
  if (candidate && (!largest || *candidate > *largest)) largest = candidate;
}

std::optional<double> retry_after_of(std::string_view text, std::optional<double> now) {
  const auto reset = parse_reset_time(text);
  if (!reset) return std::nullopt;
  if (reset->after) return reset->after->value();
  if (!now) return std::nullopt;
  return seconds_until(*reset->at, *now).value();
}

std::optional<double> header_retry_after(const LimitHeaders& found, std::optional<double> now) {
  std::optional<double> largest;
  if (!found.retry_after.empty()) keep_largest(largest, retry_after_of(found.retry_after, now));
  if (!found.retry_after_ms.empty()) {
    if (const auto milliseconds = parse_duration(found.retry_after_ms)) {
      keep_largest(largest, milliseconds->value() / 1000);
    }
  }
  return largest;
}

bool is_exhausted(const RateLimitWindow& window) { return window.remaining == Number(0); }

std::optional<double> longest_reset(const std::vector<RateLimitWindow>& windows) {
  std::optional<double> longest;
  for (const RateLimitWindow& window : windows) {
    if (is_exhausted(window) && window.resets_in) keep_largest(longest, window.resets_in->value());
  }
  return longest;
}

// "try again in 6.596s", "retry in 48.9s".
std::optional<double> retry_after_in(std::string_view message) {
  std::optional<double> largest;
  for (const std::string_view words : {"try again in ", "retry in "}) {
    std::string_view rest = message;
    for (std::size_t at = find_folded(rest, words); at != std::string_view::npos;
         at = find_folded(rest, words)) {
      rest.remove_prefix(at + words.size());
      if (const auto wait = leading_duration(rest)) keep_largest(largest, wait->value());
    }
  }
  return largest;
}

// What the body of an error says: quota windows, a delay, words.
void read_body(std::string_view body, RateLimitState& state, std::optional<double>& retry_after) {
  const ErrorBody error(body);
  keep_largest(retry_after, retry_after_in(error.message()));
  if (!error.root()) return;
  const QuotaFailure quota = read_quota(error);
  if (quota.retry_delay) keep_largest(retry_after, quota.retry_delay->value());
  for (const RateLimitWindow& window : quota.windows) {
    if (!has_window(state.windows, window.name)) state.windows.push_back(window);
  }
}

RateLimitState read_strict(const LimitsInput& input) {
  const LimitHeaders found = find_limit_headers(input.headers);
  std::optional<double> now = input.now;
  if (const auto date = seconds_of_http_date(found.date)) now = date;
  RateLimitState state;
  state.windows = header_windows(found, input.plain, now);
  std::optional<double> retry_after = header_retry_after(found, now);
  keep_largest(retry_after, input.retry_after);
  const bool failed = input.failed || (input.status && *input.status >= 400);
  if (!input.body.empty() && (failed || !input.status)) read_body(input.body, state, retry_after);
  state.limited = std::ranges::any_of(state.windows, is_exhausted) || input.status == 429 ||
                  input.status == 529 || (failed && retry_after);
  if (!retry_after && state.limited) retry_after = longest_reset(state.windows);
  if (retry_after) state.retry_after = Number(*retry_after);
  return state;
}

}  // namespace

RateLimitState read_rate_limits(const LimitsInput& input, LimitsProfile profile) {
  return profile == LimitsProfile::compat ? read_compat_limits(input.headers, input.retry_after)
                                          : read_strict(input);
}

std::vector<RateLimitWindow> build_rate_limit_windows(const Headers& headers) {
  return read_strict({.headers = headers}).windows;
}

RateLimitState build_rate_limit_state(const Headers& headers, std::optional<double> retry_after) {
  return read_strict({.headers = headers, .retry_after = retry_after});
}

}  // namespace treaty::results
