// What a call may cost at most, and what it has cost: budgets are set aside before it and settled
// after it, in the store, so that neither parallel turns nor other processes nor a crash can spend
// the same money twice. Pure.
#pragma once

#include <optional>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/chain.h"
#include "treaty/dispatch/quota/quota.h"
#include "treaty/results/prices.h"
#include "treaty/store/budgets.h"

namespace treaty::dispatch {

// Of an answer, when nobody says how much it may be: a budget needs a bound.
constexpr std::int64_t kAnswerTokens = 4'096;

// What a call may take at most. Pure.
store::Purchase purchase_of(const backends::Call& call, const Choice& choice,
                            const TokenEstimate& estimate,
                            const std::optional<results::Price>& price,
                            std::vector<store::BudgetLimit> limits, double unix_now);

// What an attempt has cost, of whose text `heard_bytes` came. A failed one without a word about
// usage has cost nothing, unless it was cut while it ran.
store::Amount spent_by(const contracts::AgentResult& result, const store::Purchase& purchase,
                       double heard_bytes);

std::size_t pictures_in(const backends::Call& call);

// Bytes of text that the model is given: what tokens are estimated by.
double bytes_of(const backends::Call& call);

// Budgets are of a day, UTC: which one it is, and how long it lasts from then.
constexpr Seconds kDay = 86'400;
std::int64_t day_of(double unix_now);
Seconds until_next_day(double unix_now);

}  // namespace treaty::dispatch
