// Fuzzes the reader of what a quota pool has kept in the store. The first byte chooses how the
// clocks stand; then comes the text.
#include <algorithm>
#include <cmath>

#include "require.h"
#include "treaty/dispatch/quota/quota_state.h"

using namespace treaty;            // NOLINT: a target is one file.
using namespace treaty::dispatch;  // NOLINT
using fuzz::require;

namespace {

constexpr double kUnix = 1'767'225'600;
constexpr double kJumps[] = {0, 1, -1, 86'400, -86'400, 4e9, -1.7e9, 1e-3};
constexpr Seconds kLongest = 40 * 86'400.0;

bool is_near(double left, double right) {
  return std::abs(left - right) <= 1e-3 + 1e-9 * std::abs(left);
}

void check_window(const Window& window, Moment now) {
  require(!window.name.empty());
  require(window.remaining >= 0 && window.remaining <= 1e19);
  require(!window.limit || (*window.limit >= window.remaining && *window.limit <= 1e19));
  require(window.seen <= now && window.seen >= now - kLongest - 1);
  require(window.resets <= now + 2 * kLongest + 1);
  require(window.length >= 1 && window.length <= kLongest);
  require(!window.refills || (window.rate > 0 && window.limit));
}

// A pool with this state lets calls go, sooner or later.
void check_standing(const QuotaState& state, Moment now) {
  Quota quota;
  quota.windows = state.windows;
  quota.blocked_until = state.blocked_until;
  quota.advance(now);
  const auto delay = quota.delay({0, 0, 0}, {1, 1'000, 100}, now);
  require(!delay || (delay->wait > 0 && delay->wait <= 2 * kLongest + 1));
  quota.send({1, 1'000, 100}, now);
  const auto behind = quota.delay({10, 1e6, 1e6}, {1, 1'000, 100}, now);
  require(!behind || std::isfinite(behind->wait));
  const auto gap = quota.gap({1, 1'000, 100});
  require(gap >= 0 && gap <= kLongest);
}

void check_same(const QuotaState& left, const QuotaState& right, Moment now) {
  require(is_near(std::max(left.blocked_until, now), std::max(right.blocked_until, now)));
  require(left.breaker.failures == right.breaker.failures);
  require(left.breaker.open_until.has_value() == right.breaker.open_until.has_value());
  if (left.breaker.open_until) {
    require(is_near(*left.breaker.open_until, *right.breaker.open_until));
  }
  require(left.estimate.has_learnt == right.estimate.has_learnt);
  require(left.estimate.tokens_per_byte == right.estimate.tokens_per_byte);
  require(left.estimate.output_tokens == right.estimate.output_tokens);
  require(left.windows.size() == right.windows.size());
  for (std::size_t i = 0; i < left.windows.size(); ++i) {
    const Window& one = left.windows[i];
    const Window& other = right.windows[i];
    require(one.name == other.name && one.resource == other.resource);
    require(one.limit == other.limit && one.remaining == other.remaining);
    require(is_near(one.seen, other.seen) && is_near(one.resets, other.resets));
    require(one.length == other.length && one.rate == other.rate);
    require(one.votes == other.votes && one.refills == other.refills);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Moment now = (data[0] & 8U) != 0 ? 5 : 4e6;
  const double unix_now = kUnix + kJumps[data[0] & 7U];
  const auto state = decode_state(fuzz::as_text(data, size).substr(1), now, unix_now);
  if (!state) return 0;
  require(state->blocked_until <= now + kLongest);
  require(!state->breaker.open_until || *state->breaker.open_until <= now + kLongest);
  require(state->windows.size() <= 32);
  for (const Window& window : state->windows) check_window(window, now);
  check_standing(*state, now);
  // From here on on clocks that agree.
  const auto again = decode_state(encode_state(*state, now, kUnix), now, kUnix);
  require(again.has_value());
  check_same(*state, *again, now);
  return 0;
}
