#include "treaty/dispatch/quota/breaker.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace treaty::dispatch {

bool counts_as_failure(const contracts::AgentError& error) {
  constexpr std::array<std::string_view, 4> kIll = {"server_error", "timeout", "auth_error",
                                                    "model_unavailable"};
  return error.code && std::ranges::find(kIll, *error.code) != kIll.end();
}

bool Breaker::lets(Moment now) const { return !open_until || (now >= *open_until && !is_probed); }

bool Breaker::begin() {
  if (open_until) is_probed = true;
  return open_until.has_value();
}

void Breaker::give_up_probe() { is_probed = false; }

Breaker::Told Breaker::tell(const contracts::AgentResult& result, bool was_probe,
                            const Policy& policy, Moment now) {
  if (was_probe) is_probed = false;
  if (result.error && !result.error->code) return {};  // Cancelled: nothing is known.
  if (!result.error || !counts_as_failure(*result.error)) {
    const bool was_open = open_until.has_value();
    if (result.error && result.error->code == "rate_limit" && !was_open) return {};
    failures = 0;
    open_until.reset();
    return {.closed = was_open};
  }
  failures = std::min(failures + 1, 1'000'000);
  const bool is_enough = policy.breaker_failures > 0 && failures >= policy.breaker_failures;
  if (!is_enough || (open_until && !was_probe)) return {};
  open_until = now + policy.breaker_open;
  return {.opened = true};
}

BreakerState Breaker::state(Moment now) const {
  if (!open_until) return BreakerState::closed;
  return is_probed || now >= *open_until ? BreakerState::probing : BreakerState::open;
}

}  // namespace treaty::dispatch
