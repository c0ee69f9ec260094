// The rules of budgets, whatever database keeps the sums: how much of a purchase the budgets of a
// day leave, and what reserving and spending do to the sums of a scope. Pure; no sum overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "treaty/store/budgets.h"

namespace treaty::store {

// A budget, and what is gone of it.
struct BudgetAccount {
  BudgetLimit limit{};
  Amount spent{};
  Amount reserved{};
};

// A reservation, still without id, of the largest output that fits into every account; or the first
// account that has not enough left even without what is reserved, or else the first that has not
// enough now. What costs nothing fits always. Negative numbers count as 0.
Reserved grant(const Purchase& purchase, std::span<const BudgetAccount> accounts);

// What is kept of a scope for a day.
struct DaySums {
  Amount spent{};
  Amount reserved{};
  std::int64_t calls = 0;
};

constexpr std::int64_t kDaysKept = 40;  // The newest days that have sums; older ones are forgotten.

// Reserves an amount, and answers the share of it that the sums have room for: exactly that share
// is released later.
Amount set_aside(DaySums& sums, const Amount& amount);

// Counts a call: releases its share, and spends what it took; without `spent`, the whole share.
void spend(DaySums& sums, const Amount& share, const std::optional<Amount>& spent);

Amount without_negatives(const Amount& amount);

}  // namespace treaty::store
