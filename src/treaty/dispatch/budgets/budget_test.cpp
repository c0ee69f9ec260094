// Parallel calls that are paid from the same budgets, on two event loops and a real store.
#include "treaty/dispatch/budgets/budget.h"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <thread>

#include "treaty/dispatch/dispatcher.h"
#include "treaty/testing/simulation/silence.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::UsageInfo;
using testing::open_store;
using testing::wait_for;

constexpr std::int64_t kTenantTokens = 2'000;
constexpr std::int64_t kAgentTokens = 1'500;

const std::vector<store::BudgetLimit> kBudgets = {{.scope = "agent:a", .tokens = kAgentTokens},
                                                  {.scope = "tenant:t", .tokens = kTenantTokens}};

// Uses some of what it may, or fails, and looks at the books each time it is asked.
class Spender final : public backends::Backend {
 public:
  Spender(store::Store& store, std::uint64_t seed) : store_(store), random_(seed) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink&) override {
    const auto rows = co_await store_.spending(day());
    if (rows) {
      for (const store::Spending& row : *rows) {
        const auto limit = row.scope == "agent:a" ? kAgentTokens : kTenantTokens;
        if (row.spent.tokens + row.reserved.tokens > limit) ++overspent;
      }
    }
    for (auto rounds = random_() % 5; rounds > 0; --rounds) {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
    const auto most = call.max_output_tokens.value_or(1'000'000);
    const std::int64_t output = static_cast<std::int64_t>(random_() % 200) % (most + 1);
    AgentResult result{.content = "ok"};
    if (random_() % 4 == 0) {
      result.error = AgentError{.message = "no", .code = "server_error", .retryable = true};
    }
    result.usage = UsageInfo{.input_tokens = 5, .output_tokens = output};
    used += 5 + output;
    co_return result;
  }

  static std::int64_t day() {
    return static_cast<std::int64_t>(unix_seconds(system_clock()->wall_now())) / 86'400;
  }

  std::int64_t used = 0;
  int overspent = 0;

 private:
  store::Store& store_;
  std::mt19937_64 random_;
};

// One event loop with its dispatcher, as a worker has.
struct Spending {
  std::int64_t used = 0;
  int overspent = 0;
  int refused = 0;
  int ended = 0;
};

Spending spend(store::Store& store, const std::shared_ptr<Pools>& pools, std::uint64_t seed,
               int calls) {
  asio::io_context loop{1};
  const auto spender = std::make_shared<Spender>(store, seed);
  Dispatcher dispatcher(
      {{"a",
        {.backend = spender, .pool_of = [](const std::string&) { return PoolName{.key = "a"}; }}}},
      {.pools = pools, .budgets = &store, .seed = seed});
  const Choice only{.backend = "a",
                    .model = "m",
                    .max_output_tokens = 300,
                    .policy = {.backoff = Backoffs{0}, .breaker_failures = 0}};
  testing::Silence nothing;
  Spending spending;
  for (int i = 0; i < calls; ++i) {
    asio::co_spawn(
        loop,
        dispatcher.run(
            {.chain = std::span(&only, 1), .deadline = pools->now() + 60, .budgets = kBudgets},
            {.model = "", .system = "twenty bytes of text"}, nothing, nothing),
        [&](const std::exception_ptr&, const Dispatched& call) {
          ++spending.ended;
          const auto& error = call.result.error;
          if (error && error->code == "budget_exhausted") ++spending.refused;
        });
  }
  loop.run();
  spending.used = spender->used;
  spending.overspent = spender->overspent;
  return spending;
}

TEST_CASE("An empty budget is one that limits nothing") {
  CHECK(Budget{}.is_empty());
  CHECK(!Budget{.tokens = 0}.is_empty());
  CHECK(!Budget{.picodollars = 1}.is_empty());
}

TEST_CASE("Parallel calls never set aside, nor spend, more than their budgets allow") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const testing::TemporaryDirectory directory(testing::quick_place());
    const auto store = open_store(directory.path() + "/treaty.db");
    REQUIRE(store);
    const auto pools = std::make_shared<Pools>(system_clock());
    const auto pool = pools->find({.key = "a"});
    constexpr int kCalls = 30;
    const auto day_before = Spender::day();
    Spending left;
    Spending right;
    {
      const std::jthread other([&] { left = spend(*store, pools, seed, kCalls); });
      right = spend(*store, pools, seed + 100, kCalls);
    }
    const std::int64_t used = left.used + right.used;
    if (Spender::day() != day_before) continue;  // Midnight: two days, two budgets.

    CHECK(left.overspent + right.overspent == 0);
    CHECK(left.ended + right.ended == 2 * kCalls);
    CHECK(left.refused + right.refused > 0);
    CHECK(used <= kAgentTokens);
    CHECK(used > kAgentTokens / 2);
    CHECK(pool->view(pools->now()).running == 0);  // Refused calls gave their places back.
    CHECK(pool->view(pools->now()).waiting == 0);
    const auto rows = wait_for(store->spending(day_before));
    REQUIRE(rows);
    REQUIRE(rows->size() == 2);
    for (const store::Spending& row : *rows) {
      CHECK(row.spent.tokens == used);
      CHECK(row.reserved == store::Amount{});
    }
  }
}

}  // namespace
}  // namespace treaty::dispatch
