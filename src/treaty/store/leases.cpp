#include "treaty/store/leases.h"

#include <fmt/format.h>

#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"
#include "treaty/store/processes.h"

namespace treaty::store {
namespace {

constexpr std::int64_t kSeconds = 300;
constexpr Milliseconds kSecond = 1'000;

}  // namespace

std::string new_owner() { return fmt::format("{}:{}", process_name(), new_uuid()); }

std::int64_t lease_end(Milliseconds now) { return now / kSecond + kSeconds; }

bool is_held(const LeaseRecord& lease, Milliseconds now) {
  return !lease.owner.empty() && lease.until * kSecond > now && !is_gone(lease.owner);
}

std::expected<LeaseRecord, Error> next_lease(const std::optional<LeaseRecord>& before,
                                             const std::string& owner, Milliseconds now) {
  if (before && is_held(*before, now)) {
    return std::unexpected(
        Error{.code = ErrorCode::conflict,
              .message = fmt::format("this execution is run by {} at least until {}; wait for it, "
                                     "or stop that process",
                                     before->owner, timestamp_of(before->until * kSecond))});
  }
  return LeaseRecord{
      .owner = owner, .until = lease_end(now), .token = before ? before->token + 1 : 1};
}

std::expected<void, Error> check_lease(const std::optional<LeaseRecord>& lease,
                                       const std::string& owner, std::int64_t token) {
  if (lease && lease->owner == owner && lease->token == token) return {};
  const bool is_anothers = lease && !lease->owner.empty();
  return std::unexpected(Error{
      .code = ErrorCode::conflict,
      .message = is_anothers ? fmt::format("this execution is not run here any more, but by {}",
                                           lease->owner)
                             : "this execution is not run here any more"});
}

}  // namespace treaty::store
