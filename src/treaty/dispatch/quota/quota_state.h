// What a pool knows, as JSON for the store: times are those of the wall, since the other clock
// begins anew with the machine. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/dispatch/quota/breaker.h"
#include "treaty/dispatch/quota/quota.h"

namespace treaty::dispatch {

struct QuotaState {
  std::vector<Window> windows{};
  Moment blocked_until = 0;
  Breaker breaker{};
  TokenEstimate estimate{};
};

std::string encode_state(const QuotaState& state, Moment now, double unix_now);

// Nothing when the text is no such state. Times that make no sense (the wall's clock was set back)
// are brought within what they can have been.
std::optional<QuotaState> decode_state(std::string_view text, Moment now, double unix_now);

}  // namespace treaty::dispatch
