#include <doctest/doctest.h>

#include "treaty/store/sqlite/budgets.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::open_store;
using testing::wait_for;

using Pools = std::vector<PoolRecord>;

constexpr Milliseconds kMillisecondsOfDay = Milliseconds{24} * 60 * 60 * 1000;

struct PoolsFixture {
  testing::TemporaryDirectory directory;
  std::string path = directory.path() + "/treaty.db";
  Milliseconds now = 1'000 * kMillisecondsOfDay;
  std::unique_ptr<Store> store =
      open_store(path, {.clock = testing::wall_clock([this] { return now; })});
};

}  // namespace

TEST_CASE_FIXTURE(PoolsFixture, "pools can be read by others, and saved only by those who write") {
  REQUIRE(wait_for(store->save_pools({{"a", "1"}})));

  const auto reader = open_store(path, {.purpose = Purpose::read});

  CHECK(wait_for(reader->pools()).value() == Pools{{"a", "1"}});
  CHECK(!wait_for(reader->save_pools({{"a", "2"}})));
  CHECK(wait_for(store->pools()).value() == Pools{{"a", "1"}});
}

}  // namespace treaty::store
