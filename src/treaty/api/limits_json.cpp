#include "treaty/api/limits_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/dispatch/budgets/purchase.h"

namespace treaty::api {
namespace {

using dispatch::Seconds;

constexpr double kMost = 1e15;                      // Of a number that a provider told.
constexpr Seconds kLongest = 366.0 * 100 * 86'400;  // A hundred years: dates stay dates.
constexpr double kPicodollars = 1e12;               // Of a dollar.

// To three decimals. What no number can be is 0.
Number rounded(double value, double most) {
  if (std::isnan(value)) return 0;
  return std::round(std::clamp(value, 0.0, most) * 1e3) / 1e3;
}

Number seconds(Seconds value) { return rounded(value, kLongest); }

std::string moment(double unix_now, Seconds later) {
  const double milliseconds = (unix_now + rounded(later, kLongest).value()) * 1e3;
  return timestamp_of(static_cast<std::int64_t>(std::round(milliseconds)));
}

std::string_view name_of(dispatch::BreakerState state) {
  switch (state) {
    case dispatch::BreakerState::closed: return "closed";
    case dispatch::BreakerState::open: return "open";
    case dispatch::BreakerState::probing: return "probing";
  }
  return "closed";
}

void write_window(json::Writer& writer, const dispatch::LimitLine& window, double unix_now) {
  writer.begin_object().member("Name", window.name).member("Resource", window.resource);
  if (window.limit) writer.member("Limit", rounded(*window.limit, kMost));
  writer.member("Remaining", rounded(window.remaining, kMost));
  writer.member("ResetsIn", seconds(window.resets_in));
  writer.member("ResetsAt", moment(unix_now, window.resets_in));
  writer.member("Refills", window.refills).end_object();
}

void write_breaker(json::Writer& writer, const dispatch::PoolView& pool) {
  writer.name("Breaker").begin_object();
  writer.member("State", name_of(pool.breaker)).member("Failures", pool.failures);
  if (pool.breaker == dispatch::BreakerState::open) {
    writer.member("ProbeIn", seconds(pool.probe_in));
  }
  writer.end_object();
}

std::string_view name_of(dispatch::Act act) {
  switch (act) {
    case dispatch::Act::finish: return "finish";
    case dispatch::Act::wait: return "wait";
    case dispatch::Act::move_on: return "switch";
    case dispatch::Act::fail: break;
  }
  return "fail";
}

// The newest one about a call that did not get its answer at once.
void write_decision(json::Writer& writer, const dispatch::PoolDecision& made, double unix_now) {
  writer.name("Decision").begin_object();
  writer.member("Act", name_of(made.decision.act));
  writer.member("Rule", dispatch::name_of(made.decision.rule));
  writer.member("Reason", made.decision.reason);
  writer.member("At", moment(unix_now - rounded(made.ago, kLongest).value(), 0)).end_object();
}

void write_pool(json::Writer& writer, const dispatch::PoolView& pool, double unix_now) {
  writer.begin_object();
  writer.member("Provider", pool.name.provider).member("Model", pool.name.model);
  writer.member("Free", pool.obstacle.empty());
  writer.member("NextFreeIn", seconds(pool.next_free_in));
  writer.member("NextFreeAt", moment(unix_now, pool.next_free_in));
  if (!pool.obstacle.empty()) writer.member("Obstacle", pool.obstacle);
  writer.member("Waiting", pool.waiting).member("Running", pool.running);
  if (pool.blocked_for > 0) writer.member("BlockedFor", seconds(pool.blocked_for));
  writer.name("Windows").array(pool.windows,
                               [&](const auto& window) { write_window(writer, window, unix_now); });
  write_breaker(writer, pool);
  if (pool.decision) write_decision(writer, *pool.decision, unix_now);
  writer.end_object();
}

double dollars(std::int64_t picodollars) { return static_cast<double>(picodollars) / kPicodollars; }

void write_budget(json::Writer& writer, const BudgetView& budget, double unix_now) {
  const Seconds resets_in = dispatch::until_next_day(unix_now);
  writer.begin_object().member("Scope", budget.scope).member("Name", budget.name);
  if (budget.limit.tokens) writer.member("TokensPerDay", *budget.limit.tokens);
  writer.member("TokensSpent", budget.spent.tokens);
  writer.member("TokensReserved", budget.reserved.tokens);
  if (budget.limit.picodollars) {
    writer.member("DollarsPerDay", Number(dollars(*budget.limit.picodollars)));
  }
  writer.member("DollarsSpent", Number(dollars(budget.spent.picodollars)));
  writer.member("DollarsReserved", Number(dollars(budget.reserved.picodollars)));
  writer.member("ResetsIn", seconds(resets_in));
  writer.member("ResetsAt", moment(unix_now, resets_in)).end_object();
}

BudgetView view_of(std::string_view scope, const std::string& name, const dispatch::Budget& limit,
                   std::span<const store::Spending> today) {
  BudgetView view{.scope = std::string(scope), .name = name, .limit = limit};
  const auto found =
      std::ranges::find(today, dispatch::scope_of(scope, name), &store::Spending::scope);
  if (found == today.end()) return view;
  view.spent = found->spent;
  view.reserved = found->reserved;
  return view;
}

}  // namespace

std::vector<BudgetView> budgets_for(const turns::Settings& settings, std::string_view tenant,
                                    std::span<const store::Spending> today) {
  std::vector<BudgetView> views;
  for (const auto& [name, agent] : settings.agents) {
    if (!agent.budget.is_empty()) views.push_back(view_of("agent", name, agent.budget, today));
  }
  const auto own = settings.tenant_budgets.find(tenant);
  if (own != settings.tenant_budgets.end() && !own->second.is_empty()) {
    views.push_back(view_of("tenant", own->first, own->second, today));
  }
  return views;
}

std::string limits_json(std::span<const dispatch::PoolView> pools,
                        std::span<const BudgetView> budgets, double unix_now) {
  json::Writer writer;
  writer.begin_object().member("At", moment(unix_now, 0));
  writer.name("Pools").array(pools, [&](const auto& pool) { write_pool(writer, pool, unix_now); });
  writer.name("Budgets").array(budgets,
                               [&](const auto& budget) { write_budget(writer, budget, unix_now); });
  return writer.end_object().take();
}

}  // namespace treaty::api
