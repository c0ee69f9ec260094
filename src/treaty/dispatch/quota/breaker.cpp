#include "treaty/dispatch/quota/breaker.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace treaty::dispatch {

namespace {

// The backend answers, but the answer is about an account or a setting: it is neither a failure of
// the backend nor a proof that calls succeed there.
bool is_neutral(const contracts::AgentError& error) {
  constexpr std::array<std::string_view, 3> kAboutAccounts = {"rate_limit", "auth_error",
                                                              "model_unavailable"};
  return std::ranges::find(kAboutAccounts, error.code.value_or("")) != kAboutAccounts.end();
}

}  // namespace

bool counts_as_failure(const contracts::AgentError& error) {
  if (error.code == "server_error" || error.code == "timeout") return true;
  // A model that is being loaded; one that does not exist is a setting.
  return error.code == "model_unavailable" && error.retryable.value_or(false);
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
    if (result.error && is_neutral(*result.error) && !was_open) return {};
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
