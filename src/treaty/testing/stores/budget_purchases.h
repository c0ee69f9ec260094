// What tests of budgets buy: tokens of one agent at a fixed price, on a fixed day.
#pragma once

#include <cstdint>
#include <limits>
#include <variant>

#include "treaty/store/store.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::testing::budgets {

using store::Purchase;
using store::Reservation;
using store::Spending;
using store::Store;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kToday = 20'000;
constexpr std::int64_t kLimit = 1'000;

// So many tokens at 2 picodollars, all or nothing, from the budget of one agent.
inline Purchase tokens(std::int64_t count, std::int64_t day = kToday) {
  return {.day = day,
          .limits = {{.scope = "agent:a", .tokens = kLimit}},
          .output_tokens = count,
          .least_output = count,
          .output_price = 2};
}

inline Spending of_agent(std::int64_t spent, std::int64_t reserved, std::int64_t calls) {
  return {.scope = "agent:a",
          .spent = {.tokens = spent, .picodollars = 2 * spent},
          .reserved = {.tokens = reserved, .picodollars = 2 * reserved},
          .calls = calls};
}

// The id, or 0.
inline std::int64_t reserve(Store& store, const Purchase& purchase) {
  const auto answer = wait_for(store.reserve(purchase));
  const auto* reservation = answer ? std::get_if<Reservation>(&*answer) : nullptr;
  return reservation == nullptr ? 0 : reservation->id;
}

inline bool settle(Store& store, std::int64_t id, std::int64_t count) {
  return wait_for(store.settle_reservation(id, {.tokens = count, .picodollars = 2 * count}))
      .has_value();
}

}  // namespace treaty::testing::budgets
