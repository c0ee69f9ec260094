// Gemini tells its limits in the body of an error: google.rpc.RetryInfo and QuotaFailure.
#pragma once

#include <optional>
#include <vector>

#include "treaty/contracts/agent_result.h"
#include "treaty/results/error_body.h"
#include "treaty/results/reset_time.h"

namespace treaty::results {

struct QuotaFailure {
  std::optional<Duration> retry_delay{};
  std::vector<contracts::RateLimitWindow> windows{};
};

QuotaFailure read_quota(const ErrorBody& body);

}  // namespace treaty::results
