#include "treaty/store/leases.h"

#include <doctest/doctest.h>

namespace treaty::store {
namespace {

constexpr Milliseconds kNow = 1'800'000'000'500;

LeaseRecord lease_of(std::string owner) {
  return {.owner = std::move(owner), .until = lease_end(kNow), .token = 4};
}

}  // namespace

TEST_CASE("every owner is another one, in one process, too") {
  CHECK(new_owner() != new_owner());
  CHECK(new_owner().starts_with(process_name() + ":"));
}

TEST_CASE("a lease of another host is held until it has run out") {
  const LeaseRecord lease = lease_of("elsewhere:1:1:x");

  CHECK(is_held(lease, kNow));
  CHECK(is_held(lease, kNow + 299'000));
  CHECK(!is_held(lease, kNow + 300'000));

  CHECK(next_lease(lease, "me", kNow + 299'000).error().code == ErrorCode::conflict);
  const auto next = next_lease(lease, "me", kNow + 300'000);
  REQUIRE(next);
  CHECK(next->owner == "me");
  CHECK(next->token == 5);
  CHECK(is_held(*next, kNow + 300'000));
}

TEST_CASE("a lease of a process of this host that is gone is free at once") {
  const std::string name = process_name();
  const std::string gone = name.substr(0, name.rfind(':')) + ":1:x";

  CHECK(!is_held(lease_of(gone), kNow));
  CHECK(next_lease(lease_of(gone), "me", kNow).value().token == 5);
}

TEST_CASE("who is refused is told who has it, and until when") {
  const auto refused = next_lease(lease_of("elsewhere:1:1:x"), "me", kNow);

  REQUIRE(!refused);
  CHECK(refused.error().message.find("elsewhere:1:1:x") != std::string::npos);
  CHECK(refused.error().message.find("2027-01-15T08:05:00") != std::string::npos);
}

TEST_CASE("only the owner with the newest token has a lease") {
  CHECK(check_lease(lease_of("me"), "me", 4));
  CHECK(!check_lease(lease_of("me"), "me", 3));
  CHECK(!check_lease(lease_of("me"), "me", 5));
  CHECK(!check_lease(lease_of("you"), "me", 4));
  CHECK(!check_lease(lease_of(""), "me", 4));
  CHECK(!check_lease(std::nullopt, "me", 0));
}

}  // namespace treaty::store
