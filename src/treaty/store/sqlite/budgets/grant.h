// How much of a purchase the budgets of a day leave. Pure; no sum overflows.
#pragma once

#include <cstdint>
#include <span>

#include "treaty/store/budgets.h"

namespace treaty::store::sqlite {

// A budget, and what is gone of it.
struct Account {
  BudgetLimit limit{};
  Amount spent{};
  Amount reserved{};
};

// A reservation, still without id, of the largest output that fits into every account; or the first
// account that has not enough left even without what is reserved, or else the first that has not
// enough now. What costs nothing fits always. Negative numbers count as 0.
Reserved grant(const Purchase& purchase, std::span<const Account> accounts);

// Ends at the greatest number, never beyond.
std::int64_t saturating_sum(std::int64_t left, std::int64_t right);

}  // namespace treaty::store::sqlite
