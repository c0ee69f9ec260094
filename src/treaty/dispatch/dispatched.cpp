#include "treaty/dispatch/dispatched.h"

#include <algorithm>

#include "treaty/base/number.h"
#include "treaty/results/prices.h"

namespace treaty::dispatch {
namespace {

using contracts::AgentResult;
using contracts::UsageInfo;
using Count = std::optional<std::int64_t>;

Count sum(const Count& left, const Count& right) {
  if (!left || !right) return left ? left : right;
  return saturating_sum(*left, *right);
}

UsageInfo sum(const UsageInfo& left, const UsageInfo& right) {
  return {.input_tokens = sum(left.input_tokens, right.input_tokens),
          .output_tokens = sum(left.output_tokens, right.output_tokens),
          .total_tokens = sum(left.total_tokens, right.total_tokens),
          .cache_read_tokens = sum(left.cache_read_tokens, right.cache_read_tokens),
          .cache_write_tokens = sum(left.cache_write_tokens, right.cache_write_tokens),
          .api_calls = sum(left.api_calls, right.api_calls)};
}

}  // namespace

void Totals::add(const AgentResult& attempt) {
  const Count told = attempt.usage ? attempt.usage->api_calls : std::nullopt;
  calls_ = sum(calls_, std::max<std::int64_t>(told.value_or(1), 1)).value_or(0);
  if (attempt.usage) usage_ = usage_ ? sum(*usage_, *attempt.usage) : *attempt.usage;
  if (const auto dollars = results::dollars_of(attempt)) cost_ = cost_.value_or(0) + *dollars;
}

void Totals::give_to(AgentResult& last) const {
  if (calls_ == 0 || (calls_ == 1 && last.usage == usage_ && results::dollars_of(last) == cost_))
    return;
  last.usage = usage_;
  if (last.usage) last.usage->api_calls = calls_;
  if (cost_) last.cost = *cost_;
}

}  // namespace treaty::dispatch
