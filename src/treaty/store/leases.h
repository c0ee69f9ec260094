// The right to run an execution, as a value: who has it, who may take it, who may write.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "treaty/base/error.h"
#include "treaty/store/records.h"

namespace treaty::store {

struct LeaseRecord {
  std::string owner{};     // Empty: released.
  std::int64_t until = 0;  // Seconds since 1970.
  std::int64_t token = 0;
};

// Whoever opens a store is an owner of its own: process_name() and something random.
std::string new_owner();

// By somebody who lives, as far as can be known.
bool is_held(const LeaseRecord& lease, Milliseconds now);

// The lease that follows `before`; `conflict` while that is held.
std::expected<LeaseRecord, Error> next_lease(const std::optional<LeaseRecord>& before,
                                             const std::string& owner, Milliseconds now);

// How long a lease is good that is taken or renewed now.
std::int64_t lease_end(Milliseconds now);

// `conflict` unless `owner` has it with that token.
std::expected<void, Error> check_lease(const std::optional<LeaseRecord>& lease,
                                       const std::string& owner, std::int64_t token);

}  // namespace treaty::store
