// What every store does with the states of quota pools.
#include "treaty/store/pools.h"

#include <doctest/doctest.h>

#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::wait_for;

using Pools = std::vector<PoolRecord>;

constexpr Milliseconds kDay = Milliseconds{24} * 60 * 60 * 1000;

struct PoolsFixture {
  explicit PoolsFixture(std::unique_ptr<testing::StorePlace> at) : place(std::move(at)) {}

  std::unique_ptr<testing::StorePlace> place;
  std::atomic<Milliseconds>& time = place->time();
  std::unique_ptr<Store> store = place->open();
};

}  // namespace

TREATY_STORE_TEST(PoolsFixture, "pools are there again after the process that saved them") {
  REQUIRE(wait_for(store->pools()).value().empty());
  REQUIRE(wait_for(store->save_pools({{"b", "{\"b\":1}"}, {"a", ""}})));
  store.reset();

  const auto again = place->open();

  CHECK(wait_for(again->pools()).value() == Pools{{"a", ""}, {"b", "{\"b\":1}"}});
}

TREATY_STORE_TEST(PoolsFixture, "a pool that is saved again replaces itself and no other") {
  REQUIRE(wait_for(store->save_pools({{"a", "old"}, {"b", "kept"}})));

  REQUIRE(wait_for(store->save_pools({{"a", "new"}})));

  CHECK(wait_for(store->pools()).value() == Pools{{"a", "new"}, {"b", "kept"}});
}

TREATY_STORE_TEST(PoolsFixture, "pools that were not saved for 60 days are forgotten") {
  REQUIRE(wait_for(store->save_pools({{"a", "1"}, {"b", "1"}})));
  time += 60 * kDay;
  REQUIRE(wait_for(store->save_pools({{"b", "2"}})));
  CHECK(wait_for(store->pools()).value().size() == 2);

  time += 1;
  REQUIRE(wait_for(store->save_pools({})));

  CHECK(wait_for(store->pools()).value() == Pools{{"b", "2"}});
}

}  // namespace treaty::store
