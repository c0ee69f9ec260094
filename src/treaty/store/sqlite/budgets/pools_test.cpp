#include "treaty/store/sqlite/budgets/pools.h"

#include <doctest/doctest.h>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::open_store;
using testing::wait_for;

using Pools = std::vector<PoolRecord>;

constexpr Milliseconds kDay = Milliseconds{24} * 60 * 60 * 1000;

struct Fixture {
  testing::TemporaryDirectory directory;
  std::string path = directory.path() + "/treaty.db";
  Milliseconds now = 1'000 * kDay;
  std::unique_ptr<Store> store = open_store(path, {.now = [this] { return now; }});
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "pools are there again after the process that saved them") {
  REQUIRE(wait_for(store->pools()).value().empty());
  REQUIRE(wait_for(store->save_pools({{"b", "{\"b\":1}"}, {"a", ""}})));
  store.reset();

  const auto again = open_store(path);

  CHECK(wait_for(again->pools()).value() == Pools{{"a", ""}, {"b", "{\"b\":1}"}});
}

TEST_CASE_FIXTURE(Fixture, "a pool that is saved again replaces itself and no other") {
  REQUIRE(wait_for(store->save_pools({{"a", "old"}, {"b", "kept"}})));

  REQUIRE(wait_for(store->save_pools({{"a", "new"}})));

  CHECK(wait_for(store->pools()).value() == Pools{{"a", "new"}, {"b", "kept"}});
}

TEST_CASE_FIXTURE(Fixture, "pools that were not saved for 60 days are forgotten") {
  REQUIRE(wait_for(store->save_pools({{"a", "1"}, {"b", "1"}})));
  now += 60 * kDay;
  REQUIRE(wait_for(store->save_pools({{"b", "2"}})));
  CHECK(wait_for(store->pools()).value().size() == 2);

  now += 1;
  REQUIRE(wait_for(store->save_pools({})));

  CHECK(wait_for(store->pools()).value() == Pools{{"b", "2"}});
}

TEST_CASE_FIXTURE(Fixture, "pools can be read by others, and saved only by those who write") {
  REQUIRE(wait_for(store->save_pools({{"a", "1"}})));

  const auto reader = open_store(path, {.purpose = Purpose::read});

  CHECK(wait_for(reader->pools()).value() == Pools{{"a", "1"}});
  CHECK(!wait_for(reader->save_pools({{"a", "2"}})));
  CHECK(wait_for(store->pools()).value() == Pools{{"a", "1"}});
}

}  // namespace treaty::store
