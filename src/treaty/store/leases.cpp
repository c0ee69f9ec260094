#include "treaty/store/leases.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "treaty/base/ids.h"
#include "treaty/base/pieces.h"
#include "treaty/base/process/spawn.h"
#include "treaty/base/timestamp.h"

namespace treaty::store {
namespace {

constexpr std::int64_t kSeconds = 300;
constexpr Milliseconds kSecond = 1'000;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  std::string host = name.data();
  std::erase(host, ':');
  return host;
}

std::optional<std::uint64_t> start_of(const std::optional<process::ProcessStatus>& status) {
  return status ? parse_number<std::uint64_t>(status->started) : std::nullopt;
}

}  // namespace

std::string process_name() {
  const pid_t pid = ::getpid();
  return fmt::format("{}:{}:{}", host_name(), pid, start_of(process::status_of(pid)).value_or(0));
}

bool is_gone(std::string_view name) {
  if (take_until(name, ':') != host_name()) return false;
  const auto pid = parse_number<pid_t>(take_until(name, ':'));
  const auto start = parse_number<std::uint64_t>(take_until(name, ':'));
  if (!pid || *pid <= 0 || !start) return false;
  if (::kill(*pid, 0) != 0 && errno == ESRCH) return true;
  const auto status = process::status_of(*pid);
  if (!start_of(status) || *start == 0) return false;
  // Killed, and its parent has not looked yet; or another one has got its number.
  return status->has_ended() || start_of(status) != start;
}

std::string new_owner() { return fmt::format("{}:{}", process_name(), new_uuid()); }

std::int64_t lease_end(Milliseconds now) { return now / kSecond + kSeconds; }

bool is_held(const LeaseRecord& lease, Milliseconds now) {
  return !lease.owner.empty() && lease.until * kSecond > now && !is_gone(lease.owner);
}

std::expected<LeaseRecord, Error> next_lease(const std::optional<LeaseRecord>& before,
                                             const std::string& owner, Milliseconds now) {
  if (before && is_held(*before, now)) {
    return fail(ErrorCode::conflict,
                fmt::format("this execution is run by {} at least until {}; wait for it, "
                            "or stop that process",
                            before->owner, timestamp_of(before->until * kSecond)));
  }
  return LeaseRecord{
      .owner = owner, .until = lease_end(now), .token = before ? before->token + 1 : 1};
}

std::expected<void, Error> check_lease(const std::optional<LeaseRecord>& lease,
                                       const std::string& owner, std::int64_t token) {
  if (lease && lease->owner == owner && lease->token == token) return {};
  const bool is_anothers = lease && !lease->owner.empty();
  return fail(ErrorCode::conflict,
              is_anothers
                  ? fmt::format("this execution is not run here any more, but by {}", lease->owner)
                  : "this execution is not run here any more");
}

}  // namespace treaty::store
