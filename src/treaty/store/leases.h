// The right to run an execution, as a value: who has it, who may take it, who may write. Owners are
// processes, by names that no other process has.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/store/records.h"

namespace treaty::store {

// This process: `host:pid:start`, start in clock ticks since the host came up. What is put behind
// it begins with a colon.
std::string process_name();

// True when `name` begins with that of a process of this host which has ended. In doubt it runs.
bool is_gone(std::string_view name);

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
