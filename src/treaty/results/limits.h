// Rate-limit windows and state from what a provider's answer says: headers, status, body, date.
// Pure, and nothing here fails: what cannot be read is left out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "treaty/base/headers.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::results {

enum class LimitsProfile {
  strict,  // As docs/guide/providers.md describes it.
  compat,  // As FlatMachines 4.2 reads it.
};

// What x-ratelimit-limit-requests and -tokens stand for where no unit is named.
enum class PlainLimits {
  unnamed,                    // `requests`, `tokens`.
  day_requests_minute_tokens  // Groq: `requests_per_day`, `tokens_per_minute`.
};

struct LimitsInput {
  const Headers& headers;
  std::optional<int> status{};
  std::string_view body{};              // Looked at when it is an error's.
  std::optional<double> now{};          // Seconds since 1970, where there is no `date` header.
  std::optional<double> retry_after{};  // Known from elsewhere.
  PlainLimits plain = PlainLimits::unnamed;
  bool failed = false;  // The body is an error, although the status is a success.
};

contracts::RateLimitState read_rate_limits(const LimitsInput& input,
                                           LimitsProfile profile = LimitsProfile::strict);

}  // namespace treaty::results
