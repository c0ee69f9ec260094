#include "treaty/cli/bridge/deadline.h"

#include <doctest/doctest.h>

#include <semaphore>

namespace treaty::cli {

using namespace std::chrono_literals;

TEST_CASE("a deadline that is not reached does nothing, and does not hold up its end") {
  bool acted = false;
  {
    const Deadline deadline(24h, [&] { acted = true; });
    CHECK(!deadline.has_expired());
  }
  CHECK(!acted);
}

TEST_CASE("a deadline acts again and again until it is heard") {
  std::counting_semaphore<> acted{0};

  const Deadline deadline(1ms, [&] { acted.release(); });

  for (int time = 0; time < 3; ++time) CHECK(acted.try_acquire_for(60s));
  CHECK(deadline.has_expired());
}

TEST_CASE("a deadline may be as long as a request can wait") {
  bool acted = false;
  {
    const Deadline deadline(std::chrono::seconds(30LL * 24 * 3600), [&] { acted = true; });
  }
  CHECK(!acted);
}

}  // namespace treaty::cli
