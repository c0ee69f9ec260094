#include "treaty/results/limits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/results/compat_limits.h"
#include "treaty/results/draft_limits.h"
#include "treaty/results/error_body.h"
#include "treaty/results/reset_time.h"

namespace treaty::results {
namespace {

using contracts::RateLimitState;
using contracts::RateLimitWindow;

// What the headers say of one window, as they say it; empty where they say nothing.
struct WindowText {
  std::string_view limit{};
  std::string_view remaining{};
  std::string_view reset{};
  std::string_view period{};  // Azure's renewalperiod.
  std::string_view status{};  // Anthropic's unified-status.
};

enum class Dialect {
  x,          // x-ratelimit-FIELD-HEADER, or x-ratelimit-FIELD.
  anthropic,  // anthropic-ratelimit-HEADER-FIELD.
  plain,      // ratelimit-FIELD.
  by_size,    // ratelimitbysize-FIELD.
};

struct KnownWindow {
  Dialect dialect;
  std::string_view header;
  std::string_view name;
  std::string_view resource;
  std::int64_t length = 0;  // Seconds until a reset that nobody tells: minute, hour and day only.
};

// The windows in the order in which they are reported. The table is closed: a header that is not in
// it makes no window.
constexpr std::array kWindows = std::to_array<KnownWindow>({
    {Dialect::x, "requests-10-second", "requests_per_10_second", "requests"},
    {Dialect::x, "tokens-10-second", "tokens_per_10_second", "tokens"},
    {Dialect::x, "requests-minute", "requests_per_minute", "requests", 60},
    {Dialect::x, "tokens-minute", "tokens_per_minute", "tokens", 60},
    {Dialect::x, "requests-hour", "requests_per_hour", "requests", 3'600},
    {Dialect::x, "tokens-hour", "tokens_per_hour", "tokens", 3'600},
    {Dialect::x, "requests-day", "requests_per_day", "requests", 86'400},
    {Dialect::x, "tokens-day", "tokens_per_day", "tokens", 86'400},
    {Dialect::x, "requests-month", "requests_per_month", "requests"},
    {Dialect::x, "tokens-month", "tokens_per_month", "tokens"},
    {Dialect::x, "requests", "requests", "requests"},
    {Dialect::x, "tokens", "tokens", "tokens"},
    {Dialect::x, "project-requests", "project_requests", "requests"},
    {Dialect::x, "project-tokens", "project_tokens", "tokens"},
    {Dialect::x, "input-images", "input_images", "input_images"},
    {Dialect::anthropic, "requests", "requests", "requests"},
    {Dialect::anthropic, "tokens", "tokens", "tokens"},
    {Dialect::anthropic, "input-tokens", "input_tokens", "input_tokens"},
    {Dialect::anthropic, "output-tokens", "output_tokens", "output_tokens"},
    {Dialect::anthropic, "unified", "unified", "unified"},
    {Dialect::plain, "", "requests", "requests"},
    {Dialect::x, "", "requests", "requests"},
    {Dialect::by_size, "", "tokens", "tokens"},
});

struct LimitHeaders {
  std::array<WindowText, kWindows.size()> windows{};
  std::string_view draft{};         // RateLimit
  std::string_view draft_policy{};  // RateLimit-Policy
  std::string_view retry_after{};
  std::string_view retry_after_ms{};
  std::string_view date{};
};

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void put(std::string_view& place, std::string_view value) {
  if (place.empty()) place = value;
}

// `req-minute` is short for `requests-minute`.
bool is_header(std::string_view known, std::string_view header) {
  if (take(header, "req-")) return take(known, "requests-") && known == header;
  return known == header;
}

void put_field(LimitHeaders& found, Dialect dialect, std::string_view header,
               std::string_view field, std::string_view value) {
  const auto known = std::ranges::find_if(kWindows, [&](const KnownWindow& window) {
    return window.dialect == dialect && is_header(window.header, header);
  });
  if (known == kWindows.end()) return;
  WindowText& window = found.windows[static_cast<std::size_t>(known - kWindows.begin())];
  if (field == "limit") put(window.limit, value);
  if (field == "remaining") put(window.remaining, value);
  if (field == "reset") put(window.reset, value);
  if (field == "renewalperiod") put(window.period, value);
  if (field == "status" && header == "unified") put(window.status, value);
}

// One pass over the headers, for all dialects.
LimitHeaders find_limit_headers(const Headers& headers) {
  LimitHeaders found;
  for (const auto& [name, value] : headers) {
    std::string_view rest = name;
    if (take(rest, "x-ratelimit-")) {
      const std::size_t dash = rest.find('-');
      const bool is_bare = dash == std::string_view::npos;
      if (is_bare || dash + 1 < rest.size()) {
        put_field(found, Dialect::x, is_bare ? "" : rest.substr(dash + 1), rest.substr(0, dash),
                  value);
      }
    } else if (take(rest, "anthropic-ratelimit-")) {
      const std::size_t dash = std::min(rest.rfind('-'), rest.size() - 1);
      put_field(found, Dialect::anthropic, rest.substr(0, dash), rest.substr(dash + 1), value);
    } else if (take(rest, "ratelimitbysize-")) {
      put_field(found, Dialect::by_size, "", rest, value);
    } else if (name == "ratelimit") {
      put(found.draft, value);
    } else if (name == "ratelimit-policy") {
      put(found.draft_policy, value);
    } else if (take(rest, "ratelimit-")) {
      put_field(found, Dialect::plain, "", rest, value);
    } else if (name == "retry-after") {
      found.retry_after = value;
    } else if (name == "retry-after-ms") {
      found.retry_after_ms = value;
    } else if (name == "date") {
      found.date = value;
    }
  }
  return found;
}

std::string_view name_of(const KnownWindow& window, PlainLimits plain) {
  if (plain == PlainLimits::day_requests_minute_tokens && window.dialect == Dialect::x) {
    if (window.header == "requests") return "requests_per_day";
    if (window.header == "tokens") return "tokens_per_minute";
  }
  return window.name;
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

void add_window(std::vector<RateLimitWindow>& windows, const KnownWindow& known,
                const WindowText& text, PlainLimits plain, std::optional<double> now) {
  std::optional<Number> remaining = parse_count(text.remaining);
  const std::optional<Number> limit = parse_count(text.limit);
  if (text.status == "rejected") remaining = Number(0);
  const std::string_view name = name_of(known, plain);
  if ((!remaining && !limit) || has_window(windows, name)) return;
  RateLimitWindow& window = windows.emplace_back(
      RateLimitWindow{.name = std::string(name), .resource = std::string(known.resource)});
  window.remaining = remaining;
  window.limit = limit;
  if (const auto reset = parse_reset_time(text.reset)) {
    set_reset(window, *reset, now);
  } else if (const auto period = parse_duration(text.period)) {
    set_reset(window, {.after = period}, now);
  } else if (known.length > 0) {
    set_reset(window, {.after = Duration{.seconds = known.length}}, now);
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
  for (std::size_t i = 0; i < kWindows.size(); ++i) {
    const WindowText& text = found.windows[i];
    if (text.remaining.empty() && text.limit.empty() && text.status.empty()) continue;
    if (windows.empty()) windows.reserve(6);
    add_window(windows, kWindows[i], text, plain, now);
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

}  // namespace treaty::results
