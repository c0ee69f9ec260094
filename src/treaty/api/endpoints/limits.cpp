// GET /v1/limits: the quota pools of the server, and the budgets of the day.
#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/limits_json.h"
#include "treaty/dispatch/budgets/purchase.h"

namespace treaty::api {

Reply show_limits(const Visit& visit) {
  // A reload may replace them while the store is asked.
  const auto dispatcher = visit.worker.dispatcher;
  const auto settings = visit.worker.settings;
  const dispatch::Pools& pools = dispatcher->pools();
  const auto today = dispatch::day_of(pools.unix_now());
  const auto spending = co_await visit.engine.store().spending(today);
  if (!spending) co_return refusal_response(refusal_of(spending.error()));
  co_return json_response(
      200,
      limits_json(pools.view(), budgets_for(*settings, visit.tenant, *spending), pools.unix_now()));
}

}  // namespace treaty::api
