#include "treaty/results/compat_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::results {
namespace {

using contracts::RateLimitWindow;

// A sign, white space around and `_` between digits are allowed. Too large ones end at int64's
// ends.
std::optional<Number> parse_integer(std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string digits = negative ? "-" : "";
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' ? !after_digit : !is_digit(c)) return std::nullopt;
    after_digit = c != '_';
    if (after_digit) digits += c;
  }
  if (!after_digit) return std::nullopt;
  if (const auto value = parse_number<std::int64_t>(digits)) return Number(*value);
  return Number(negative ? std::numeric_limits<std::int64_t>::min()
                         : std::numeric_limits<std::int64_t>::max());
}

// Collects digits and points into a number, adds it at h, m, s and ms, and passes over the rest.
std::optional<Number> parse_compat_duration(std::string_view text) {
  double total = 0;
  std::string number;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c) || c == '.') {
      number += c;
    } else if ((c == 'h' || c == 'm' || c == 's') && !number.empty()) {
      const auto value = parse_number<double>(number);
      if (!value) return std::nullopt;
      const bool milliseconds = c == 'm' && text.substr(i).starts_with("ms");
      if (milliseconds) ++i;
      const double unit = milliseconds ? 0.001 : (c == 'h' ? 3600 : (c == 'm' ? 60 : 1));
      total += milliseconds ? *value / 1000 : *value * unit;
      number.clear();
    }
  }
  if (!number.empty()) {
    const auto value = parse_number<double>(number);
    if (!value) return std::nullopt;
    total += *value;
  }
  if (!(total > 0) || !std::isfinite(total)) return std::nullopt;
  return Number(std::ceil(total));
}

enum class Reset { bucket_length, duration, timestamp };

struct Source {
  std::string_view before;  // The header's name around its field: BEFORE limit AFTER.
  std::string_view after;
  std::string_view name;
  std::string_view resource;
  Reset reset;
  std::int64_t length = 0;

  std::string_view text(const Headers& headers, std::string_view field) const {
    return headers.get(fmt::format("{}{}{}", before, field, after));
  }
};

constexpr std::string_view kX = "x-ratelimit-";
constexpr std::array<Source, 10> kSources = {{
    {kX, "-requests-minute", "requests_per_minute", "requests", Reset::bucket_length, 60},
    {kX, "-tokens-minute", "tokens_per_minute", "tokens", Reset::bucket_length, 60},
    {kX, "-requests-hour", "requests_per_hour", "requests", Reset::bucket_length, 3'600},
    {kX, "-tokens-hour", "tokens_per_hour", "tokens", Reset::bucket_length, 3'600},
    {kX, "-requests-day", "requests_per_day", "requests", Reset::bucket_length, 86'400},
    {kX, "-tokens-day", "tokens_per_day", "tokens", Reset::bucket_length, 86'400},
    {kX, "-requests", "requests", "requests", Reset::duration},
    {kX, "-tokens", "tokens", "tokens", Reset::duration},
    {"anthropic-ratelimit-requests-", "", "requests", "requests", Reset::timestamp},
    {"anthropic-ratelimit-tokens-", "", "tokens", "tokens", Reset::timestamp},
}};

void set_reset(RateLimitWindow& window, const Source& source, std::string_view text) {
  switch (source.reset) {
    case Reset::bucket_length: window.resets_in = Number(source.length); break;
    case Reset::duration: window.resets_in = parse_compat_duration(text); break;
    case Reset::timestamp:
      if (const auto at = seconds_of_timestamp(text)) window.reset_at = Number(*at);
      break;
  }
}

void add_window(std::vector<RateLimitWindow>& windows, const Source& source,
                const Headers& headers) {
  const auto remaining = parse_integer(source.text(headers, "remaining"));
  const auto limit = parse_integer(source.text(headers, "limit"));
  if (!remaining && !limit) return;
  // A plain window only where no bucket speaks of its resource.
  if (source.reset == Reset::duration &&
      std::ranges::find(windows, source.resource, &RateLimitWindow::resource) != windows.end()) {
    return;
  }
  RateLimitWindow window{.name = std::string(source.name),
                         .resource = std::string(source.resource),
                         .remaining = remaining,
                         .limit = limit};
  set_reset(window, source, source.text(headers, "reset"));
  windows.push_back(std::move(window));
}

}  // namespace

contracts::RateLimitState read_compat_limits(const Headers& headers,
                                             std::optional<double> retry_after) {
  contracts::RateLimitState state;
  for (const Source& source : kSources) add_window(state.windows, source, headers);
  state.limited = std::ranges::any_of(
      state.windows, [](const RateLimitWindow& window) { return window.remaining == Number(0); });
  state.retry_after =
      retry_after ? std::optional(Number(*retry_after)) : parse_integer(headers.get("retry-after"));
  return state;
}

}  // namespace treaty::results
