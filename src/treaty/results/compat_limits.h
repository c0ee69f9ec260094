// Rate limits as FlatMachines 4.2 reads them, for machines and hooks that were written against it.
// Two differences: nothing throws, and a time that ends with Z is UTC.
#pragma once

#include <optional>

#include "treaty/base/headers.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::results {

contracts::RateLimitState read_compat_limits(const Headers& headers,
                                             std::optional<double> retry_after = {});

}  // namespace treaty::results
