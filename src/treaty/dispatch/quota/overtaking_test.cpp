// Calls that overtake each other on their way: the careful reading of what is left.
#include <doctest/doctest.h>

#include "treaty/dispatch/quota/quota.h"

namespace treaty::dispatch {
namespace {

using contracts::AgentResult;
using contracts::RateLimitState;

AgentResult telling(double remaining, double resets_in = 60) {
  return {.finish_reason = "stop",
          .rate_limit = RateLimitState{.windows = {{.name = "requests",
                                                    .resource = "requests",
                                                    .remaining = remaining,
                                                    .limit = 10,
                                                    .resets_in = resets_in}}}};
}

// How many more calls the quota lets go at that moment.
int goes(Quota quota, Moment now) {
  int count = 0;
  quota.advance(now);
  while (count < 100 && !quota.delay({0, 0, 0}, {}, now)) {
    quota.send({}, now);
    ++count;
  }
  return count;
}

TEST_CASE("calls that the telling one may have overtaken count until they are answered") {
  Quota quota;
  quota.tell(quota.send({}, 0), telling(9), 0.1);
  std::vector<std::uint64_t> calls;
  calls.reserve(9);
  for (int i = 0; i < 9; ++i) calls.push_back(quota.send({}, 1));
  CHECK(goes(quota, 1.1) == 0);
  quota.tell(calls.back(), telling(8), 1.1);  // It came in as the first.
  CHECK(goes(quota, 1.1) == 0);
  for (std::size_t i = 0; i < 8; ++i) {
    quota.tell(calls[i], telling(7.0 - static_cast<double>(i)), 1.2);
    CHECK(goes(quota, 1.2) == 0);
  }
  CHECK(goes(quota, 61.2) == 10);
}

TEST_CASE("calls that were sent long before are known to the one that tells") {
  Quota quota;
  quota.tell(quota.send({}, 0), telling(9), 0.1);
  for (int i = 0; i < 3; ++i) quota.send({}, 1);  // They take their time.
  const auto later = quota.send({}, 20);
  quota.tell(later, telling(5, 40), 20.1);
  CHECK(goes(quota, 20.1) == 5);
}

TEST_CASE("an older answer does not bring back what a newer one said is gone") {
  Quota quota;
  const auto first = quota.send({}, 0);
  const auto second = quota.send({}, 0.1);
  quota.tell(second, telling(3), 0.2);
  quota.tell(first, telling(4), 0.3);
  CHECK(goes(quota, 0.3) == 3);
}

TEST_CASE("an answer from before the reset says nothing about the window after it") {
  Quota quota;
  const auto first = quota.send({}, 0);
  const auto second = quota.send({}, 0.1);
  quota.tell(second, telling(9, 60), 10);
  quota.tell(first, telling(0, 5), 10.1);
  CHECK(goes(quota, 10.2) == 9);
}

}  // namespace
}  // namespace treaty::dispatch
