// What every store does with budgets.
#include "treaty/store/budgets.h"

#include <doctest/doctest.h>

#include <limits>

#include "treaty/testing/stores/budget_purchases.h"
#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::wait_for;
using namespace testing::budgets;  // NOLINT: the vocabulary of these tests.

struct BudgetsFixture : testing::StoreFixture {
  using StoreFixture::StoreFixture;

  std::vector<Spending> spent_on(std::int64_t day) const {
    return wait_for(store->spending(day)).value();
  }
  // Of the one scope that there is.
  Spending today() const {
    const auto all = spent_on(kToday);
    REQUIRE(all.size() == 1);
    return all[0];
  }
  Exhausted refused(const Purchase& purchase) const {
    const auto answer = wait_for(store->reserve(purchase)).value();
    REQUIRE(std::holds_alternative<Exhausted>(answer));
    return std::get<Exhausted>(answer);
  }
};

}  // namespace

TREATY_STORE_TEST(BudgetsFixture,
                  "a reservation is set aside until it is settled, and then spent") {
  const std::int64_t id = reserve(*store, tokens(600));
  REQUIRE(id != 0);
  CHECK(today() == of_agent(0, 600, 0));

  REQUIRE(settle(*store, id, 200));

  CHECK(today() == of_agent(200, 0, 1));
}

TREATY_STORE_TEST(BudgetsFixture, "what was granted is what the budget leaves, in every scope") {
  Purchase purchase = tokens(5'000);
  purchase.input_tokens = 100;
  purchase.least_output = 1;
  purchase.limits.push_back({.scope = "tenant:t", .picodollars = 1'000});

  const auto answer = wait_for(store->reserve(purchase)).value();

  REQUIRE(std::holds_alternative<Reservation>(answer));
  const auto& reservation = std::get<Reservation>(answer);
  const Amount amount{.tokens = 600, .picodollars = 1'000};
  CHECK(reservation.output_tokens == 500);
  CHECK(reservation.amount == amount);
  CHECK(spent_on(kToday) == std::vector<Spending>{{.scope = "agent:a", .reserved = amount},
                                                  {.scope = "tenant:t", .reserved = amount}});
}

TREATY_STORE_TEST(BudgetsFixture, "a refusal says why and writes nothing") {
  const std::int64_t id = reserve(*store, tokens(700));

  Purchase purchase = tokens(400);
  purchase.limits.push_back({.scope = "tenant:t", .tokens = 10'000});

  CHECK(refused(purchase) == Exhausted{.scope = "agent:a",
                                       .reserved = {.tokens = 700, .picodollars = 1'400},
                                       .may_come_back = true});
  CHECK(today() == of_agent(0, 700, 0));
  REQUIRE(settle(*store, id, 700));
  CHECK(!refused(purchase).may_come_back);
  CHECK(today() == of_agent(700, 0, 1));
}

TREATY_STORE_TEST(BudgetsFixture, "what is settled below its reservation can be spent by others") {
  const std::int64_t id = reserve(*store, tokens(1'000));
  REQUIRE(refused(tokens(1)).may_come_back);

  REQUIRE(settle(*store, id, 400));

  CHECK(reserve(*store, tokens(601)) == 0);
  CHECK(reserve(*store, tokens(600)) != 0);
}

TREATY_STORE_TEST(BudgetsFixture, "a call that took more than was set aside counts in full") {
  REQUIRE(settle(*store, reserve(*store, tokens(600)), 5'000));

  CHECK(today() == of_agent(5'000, 0, 1));
  CHECK(!refused(tokens(1)).may_come_back);
}

TREATY_STORE_TEST(BudgetsFixture, "a settlement counts on the day of its reservation") {
  const std::int64_t late = reserve(*store, tokens(600));
  const std::int64_t early = reserve(*store, tokens(1'000, kToday + 1));
  REQUIRE(early != 0);

  REQUIRE(settle(*store, late, 500));

  CHECK(today() == of_agent(500, 0, 1));
  CHECK(spent_on(kToday + 1) == std::vector{of_agent(0, 1'000, 0)});
  CHECK(spent_on(kToday + 2).empty());
}

TREATY_STORE_TEST(BudgetsFixture,
                  "what is not there, or settled, or another's, cannot be settled") {
  const std::int64_t id = reserve(*store, tokens(600));
  const auto other = place->open();

  const auto unknown = wait_for(store->settle_reservation(id + 1, {.tokens = 1}));
  REQUIRE(!unknown);
  CHECK(unknown.error().code == ErrorCode::not_found);
  CHECK(!settle(*other, id, 1));
  CHECK(today() == of_agent(0, 600, 0));

  REQUIRE(settle(*store, id, 1));
  CHECK(!settle(*store, id, 1));
  CHECK(today() == of_agent(1, 0, 1));
}

TREATY_STORE_TEST(BudgetsFixture, "negative amounts count as nothing") {
  REQUIRE(settle(*store, reserve(*store, tokens(600)), 100));

  REQUIRE(settle(*store, reserve(*store, tokens(600)), -50));

  CHECK(today() == of_agent(100, 0, 2));
}

TREATY_STORE_TEST(BudgetsFixture, "two limits of one scope count once, and the smaller one holds") {
  Purchase purchase = tokens(600);
  purchase.limits.push_back({.scope = "agent:a", .tokens = 700});

  const std::int64_t id = reserve(*store, purchase);

  REQUIRE(id != 0);
  CHECK(today() == of_agent(0, 600, 0));
  CHECK(reserve(*store, purchase) == 0);
  REQUIRE(settle(*store, id, 600));
  CHECK(today() == of_agent(600, 0, 1));
}

TREATY_STORE_TEST(BudgetsFixture,
                  "a call without budgets is settled like any other and counts nowhere") {
  Purchase purchase = tokens(600);
  purchase.limits.clear();

  const std::int64_t id = reserve(*store, purchase);

  REQUIRE(id != 0);
  CHECK(settle(*store, id, 600));
  CHECK(!settle(*store, id, 600));
  CHECK(spent_on(kToday).empty());
}

TREATY_STORE_TEST(BudgetsFixture, "sums that would overflow stay at the greatest number") {
  Purchase purchase = tokens(kMost);
  purchase.limits = {{.scope = "agent:a"}};
  const std::int64_t one = reserve(*store, purchase);
  const std::int64_t two = reserve(*store, purchase);
  REQUIRE(two != 0);
  CHECK(today().reserved == Amount{kMost, kMost});

  REQUIRE(wait_for(store->settle_reservation(two, {kMost, kMost})));
  CHECK(today().reserved == Amount{kMost, kMost});
  REQUIRE(wait_for(store->settle_reservation(one, {kMost, kMost})));

  CHECK(today() == Spending{.scope = "agent:a", .spent = {kMost, kMost}, .calls = 2});
}

TREATY_STORE_TEST(BudgetsFixture, "the newest 40 days are kept") {
  for (std::int64_t day = kToday; day < kToday + 41; ++day) {
    REQUIRE(settle(*store, reserve(*store, tokens(10, day)), 10));
  }

  CHECK(spent_on(kToday).empty());
  CHECK(spent_on(kToday + 1).size() == 1);
  CHECK(spent_on(kToday + 40).size() == 1);
}

TREATY_STORE_TEST(BudgetsFixture,
                  "a clock that leaps ahead and back does not take what was spent today") {
  REQUIRE(settle(*store, reserve(*store, tokens(900)), 900));

  REQUIRE(settle(*store, reserve(*store, tokens(900, kToday + 10'000)), 900));

  CHECK(!refused(tokens(101)).may_come_back);
}

TREATY_STORE_TEST(BudgetsFixture, "a reservation whose day is forgotten can still be settled") {
  const std::int64_t id = reserve(*store, tokens(600));
  for (std::int64_t day = kToday + 1; day < kToday + 41; ++day) reserve(*store, tokens(10, day));
  REQUIRE(spent_on(kToday).empty());

  REQUIRE(settle(*store, id, 100));

  CHECK(today() == of_agent(100, 0, 1));
}

}  // namespace treaty::store
