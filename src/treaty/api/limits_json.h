// What GET /v1/limits tells: the quota pools, and the budgets of a day. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/dispatch/pool.h"
#include "treaty/store/budgets.h"
#include "treaty/turns/settings.h"

namespace treaty::api {

// A budget, and what is gone of it today.
struct BudgetView {
  std::string scope{};  // "agent" or "tenant".
  std::string name{};
  dispatch::Budget limit{};
  store::Amount spent{};
  store::Amount reserved{};
};

// Those of the agents, and that of one tenant: what others may spend is not its business.
std::vector<BudgetView> budgets_for(const turns::Settings& settings, std::string_view tenant,
                                    std::span<const store::Spending> today);

// `unix_now`: seconds since 1970 of the moment that the views are of.
std::string limits_json(std::span<const dispatch::PoolView> pools,
                        std::span<const BudgetView> budgets, double unix_now);

}  // namespace treaty::api
