#include "treaty/dispatch/pools.h"

#include <doctest/doctest.h>

#include "treaty/dispatch/dispatcher.h"

namespace treaty::dispatch {
namespace {

PoolNames pools_named(const std::string& account, const std::string& provider) {
  return [=](const std::string& model) {
    return PoolName{.key = account + "/" + model, .provider = provider, .model = model};
  };
}

std::vector<std::string> shown(const Pools& pools) {
  std::vector<std::string> names;
  for (const PoolView& view : pools.view()) names.push_back(view.name.provider);
  return names;
}

}  // namespace

TEST_CASE("a pool that has no user is not shown, and comes back as it was") {
  Pools pools(system_clock());
  auto pool = pools.find({.key = "k/m", .provider = "main", .model = "m"});
  const Policy policy{.breaker_failures = 1};
  const std::uint64_t place = pool->join();
  REQUIRE(!pool->ask(place, 10, policy, pools.now(), nullptr));
  pool->tell(place, 10,
             {.error = contracts::AgentError{.message = "Down.", .code = "server_error"}}, policy,
             pools.now());
  CHECK(shown(pools) == std::vector<std::string>{"main"});

  pool.reset();

  CHECK(shown(pools).empty());
  CHECK(pools.find({.key = "k/m", .provider = "main", .model = "m"})->view(pools.now()).failures ==
        1);
}

TEST_CASE("a dispatcher takes over the pools of its chains that are there, under its own names") {
  const auto pools = std::make_shared<Pools>(system_clock());
  const auto before = pools->find(pools_named("account", "main")("m"));
  Dispatcher dispatcher({{"first", {.pool_of = pools_named("account", "first")}}},
                        {.pools = pools, .seed = 1});
  const std::vector<Choice> chain = {{.backend = "first", .model = "m"},
                                     {.backend = "first", .model = "never-asked"},
                                     {.backend = "unknown", .model = "m"}};

  dispatcher.take_over_pools(chain);

  CHECK(shown(*pools) == std::vector<std::string>{"first"});
}

}  // namespace treaty::dispatch
