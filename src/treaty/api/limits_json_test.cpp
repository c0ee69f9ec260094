#include "treaty/api/limits_json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "treaty/base/json.h"

namespace treaty::api {
namespace {

constexpr double kNoon = 1'795'262'400;  // 2026-11-21T12:00:00Z.

dispatch::PoolView pool() {
  return {.name = {.key = "digest of a secret", .provider = "openai", .model = "small"}};
}

std::string pool_json(const dispatch::PoolView& view) {
  const std::string text = limits_json({&view, 1}, {}, kNoon);
  const json::Document document(text);
  REQUIRE(document.faults().empty());
  const auto pools = json::find_member(document.root(), "Pools");
  return std::string((*pools->elements().begin()).source());
}

TEST_CASE("without pools and budgets both lists are empty, and the moment is told") {
  CHECK(limits_json({}, {}, kNoon + 0.25) ==
        R"({"At":"2026-11-21T12:00:00.250Z","Pools":[],"Budgets":[]})");
}

TEST_CASE("a pool that nobody has called is free, and its key stays here") {
  CHECK(pool_json(pool()) ==
        R"({"Provider":"openai","Model":"small","Free":true,"NextFreeIn":0,)"
        R"("NextFreeAt":"2026-11-21T12:00:00.000Z","Waiting":0,"Running":0,"Windows":[],)"
        R"("Breaker":{"State":"closed","Failures":0}})");
}

TEST_CASE("a pool that is not free says why, and when it is") {
  dispatch::PoolView view = pool();
  view.obstacle = "retry_after";
  view.next_free_in = 30.12345;
  view.blocked_for = 30.12345;
  view.waiting = 4;
  view.running = 2;

  const std::string text = pool_json(view);

  CHECK(text.contains(R"("Free":false,"NextFreeIn":30.123,"NextFreeAt":"2026-11-21T12:00:30.123Z",)"
                      R"("Obstacle":"retry_after","Waiting":4,"Running":2,"BlockedFor":30.123)"));
}

TEST_CASE("a window has what is known of it") {
  dispatch::PoolView view = pool();
  view.windows = {{.name = "requests_per_minute",
                   .resource = "requests",
                   .limit = 60,
                   .length = 60,
                   .remaining = 12.0005,
                   .resets_in = 5,
                   .refills = true},
                  {.name = "tokens", .resource = "tokens", .remaining = 7}};

  const std::string text = pool_json(view);

  CHECK(
      text.contains(R"("Windows":[{"Name":"requests_per_minute","Resource":"requests","Limit":60,)"
                    R"("Remaining":12.001,"ResetsIn":5,"ResetsAt":"2026-11-21T12:00:05.000Z",)"
                    R"("Refills":true},{"Name":"tokens","Resource":"tokens","Remaining":7,)"));
}

TEST_CASE("the newest decision has the time at which it was made") {
  dispatch::PoolView view = pool();
  view.decision = {.decision = {.act = dispatch::Act::wait,
                                .rule = dispatch::DispatchRule::retry,
                                .reason = "server_error: trying again in 500 ms"},
                   .ago = 90.25};

  CHECK(pool_json(view).contains(
      R"("Decision":{"Act":"wait","Rule":"retry","Reason":"server_error: trying again in 500 ms",)"
      R"("At":"2026-11-21T11:58:29.750Z"})"));
}

TEST_CASE("an open breaker tells when it is probed") {
  dispatch::PoolView view = pool();
  view.breaker = dispatch::BreakerState::open;
  view.failures = 5;
  view.probe_in = 12.5;

  CHECK(pool_json(view).contains(R"("Breaker":{"State":"open","Failures":5,"ProbeIn":12.5})"));
}

TEST_CASE("absurd numbers stay numbers, and dates stay dates") {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double absurd : {infinite, -infinite, std::nan(""), 1e300, -1.0, 9.3e18}) {
    CAPTURE(absurd);
    dispatch::PoolView view = pool();
    view.next_free_in = absurd;
    view.blocked_for = absurd;
    view.windows = {{.limit = absurd, .remaining = absurd, .resets_in = absurd}};

    const std::string text = pool_json(view);

    CHECK(json::is_json(text));
    CHECK(!text.contains("null"));
    CHECK(!text.contains(":-"));
  }
}

TEST_CASE("a budget has what is spent, what is set aside, and when the day ends") {
  const BudgetView budget{.scope = "agent",
                          .name = "default",
                          .limit = {.tokens = 100'000, .picodollars = 2'500'000'000'000},
                          .spent = {.tokens = 1'200, .picodollars = 15'000'000'000},
                          .reserved = {.tokens = 300, .picodollars = 1}};

  const std::string text = limits_json({}, {&budget, 1}, kNoon);

  CHECK(text.contains(R"("Budgets":[{"Scope":"agent","Name":"default","TokensPerDay":100000,)"
                      R"("TokensSpent":1200,"TokensReserved":300,"DollarsPerDay":2.5,)"
                      R"("DollarsSpent":0.015,"DollarsReserved":1e-12,"ResetsIn":43200,)"
                      R"("ResetsAt":"2026-11-22T00:00:00.000Z"}])"));
}

TEST_CASE("a tenant is told the budgets of the agents and its own, and nobody else's") {
  turns::Settings settings;
  settings.agents["default"].budget.tokens = 10;
  settings.agents["free"] = {};
  settings.tenant_budgets["acme"].tokens = 20;
  settings.tenant_budgets["rival"].tokens = 30;
  const std::vector<store::Spending> today = {
      {.scope = "tenant:rival", .spent = {.tokens = 3}},
      {.scope = "tenant:acme", .spent = {.tokens = 2}, .reserved = {.tokens = 1}},
      {.scope = "agent:default", .spent = {.tokens = 5}}};

  const auto views = budgets_for(settings, "acme", today);

  REQUIRE(views.size() == 2);
  CHECK(views[0].scope == "agent");
  CHECK(views[0].name == "default");
  CHECK(views[0].spent.tokens == 5);
  CHECK(views[1].scope == "tenant");
  CHECK(views[1].name == "acme");
  CHECK(views[1].reserved.tokens == 1);
  CHECK(budgets_for(settings, "local", {}).size() == 1);
}

}  // namespace
}  // namespace treaty::api
