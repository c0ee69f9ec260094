#include "treaty/store/grants.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace treaty::store {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

const Purchase kPurchase{.input_tokens = 100,
                         .output_tokens = 50,
                         .least_output = 10,
                         .input_price = 2,
                         .output_price = 6};

BudgetAccount of_tokens(std::int64_t limit, std::int64_t spent = 0, std::int64_t reserved = 0) {
  return {.limit = {.scope = "agent:a", .tokens = limit},
          .spent = {.tokens = spent},
          .reserved = {.tokens = reserved}};
}

BudgetAccount of_money(std::int64_t limit, std::int64_t spent = 0, std::int64_t reserved = 0) {
  return {.limit = {.scope = "tenant:t", .picodollars = limit},
          .spent = {.picodollars = spent},
          .reserved = {.picodollars = reserved}};
}

Reservation granted(const Purchase& purchase, const std::vector<BudgetAccount>& accounts) {
  const Reserved answer = grant(purchase, accounts);
  REQUIRE(std::holds_alternative<Reservation>(answer));
  return std::get<Reservation>(answer);
}

Exhausted refused(const Purchase& purchase, const std::vector<BudgetAccount>& accounts) {
  const Reserved answer = grant(purchase, accounts);
  REQUIRE(std::holds_alternative<Exhausted>(answer));
  return std::get<Exhausted>(answer);
}

// Small numbers, where sums are close to limits, and the greatest there are.
rc::Gen<std::int64_t> any_number() {
  return rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(0, 40),
      rc::gen::element<std::int64_t>(0, 1, kMost / 2, kMost - 1, kMost, -1, kLeast));
}

rc::Gen<std::int64_t> any_sum() {
  return rc::gen::map(any_number(), [](std::int64_t n) { return std::max<std::int64_t>(n, 0); });
}

rc::Gen<std::optional<std::int64_t>> any_limit() {
  return rc::gen::oneOf(
      rc::gen::just(std::optional<std::int64_t>()),
      rc::gen::map(any_number(), [](std::int64_t n) { return std::optional(n); }));
}

BudgetAccount any_account() {
  return {.limit = {.scope = "s", .tokens = *any_limit(), .picodollars = *any_limit()},
          .spent = {.tokens = *any_sum(), .picodollars = *any_sum()},
          .reserved = {.tokens = *any_sum(), .picodollars = *any_sum()}};
}

Purchase any_purchase() {
  return {.input_tokens = *any_number(),
          .output_tokens = *any_number(),
          .least_output = *any_number(),
          .input_price = *any_number(),
          .output_price = *any_number()};
}

// The rule itself, in numbers that cannot overflow.
bool fits(Wide cost, std::optional<std::int64_t> limit, Wide taken) {
  return !limit || cost == 0 || taken + cost <= *limit;
}

bool fits(const Purchase& purchase, Wide output, const BudgetAccount& account,
          bool counts_reserved) {
  const auto positive = [](std::int64_t n) { return Wide{std::max<std::int64_t>(n, 0)}; };
  const Wide input = positive(purchase.input_tokens);
  const Wide money =
      input * positive(purchase.input_price) + output * positive(purchase.output_price);
  const Wide counted = counts_reserved ? 1 : 0;
  return fits(input + output, account.limit.tokens,
              account.spent.tokens + counted * account.reserved.tokens) &&
         fits(money, account.limit.picodollars,
              account.spent.picodollars + counted * account.reserved.picodollars);
}

}  // namespace

TEST_CASE("without limits all that is wanted is granted") {
  CHECK(granted(kPurchase, {}) ==
        Reservation{.output_tokens = 50, .amount = {.tokens = 150, .picodollars = 500}});
  CHECK(granted(kPurchase, {BudgetAccount{.limit = {.scope = "agent:a"}}}).output_tokens == 50);
}

TEST_CASE("the output is cut to the smallest of what the budgets leave") {
  CHECK(granted(kPurchase, {of_tokens(150)}).output_tokens == 50);
  CHECK(granted(kPurchase, {of_tokens(149)}).output_tokens == 49);
  CHECK(granted(kPurchase, {of_tokens(1'000, 800, 80)}).output_tokens == 20);
  CHECK(granted(kPurchase, {of_money(299)}).output_tokens == 16);
  CHECK(granted(kPurchase, {of_tokens(130), of_money(299)}) ==
        Reservation{.output_tokens = 16, .amount = {.tokens = 116, .picodollars = 296}});
}

TEST_CASE("below the least output nothing is granted") {
  CHECK(granted(kPurchase, {of_tokens(110)}).output_tokens == 10);
  CHECK(refused(kPurchase, {of_tokens(109)}) == Exhausted{.scope = "agent:a"});
  CHECK(refused(kPurchase, {of_money(259)}) == Exhausted{.scope = "tenant:t"});
}

TEST_CASE("an input that does not fit is refused, however little output is wanted") {
  Purchase purchase = kPurchase;
  purchase.output_tokens = 0;

  CHECK(granted(purchase, {of_tokens(100)}).amount.tokens == 100);
  CHECK(refused(purchase, {of_tokens(99)}).scope == "agent:a");
}

TEST_CASE("what is reserved may come back, what is spent does not") {
  CHECK(refused(kPurchase, {of_tokens(1'000, 500, 450)}) == Exhausted{.scope = "agent:a",
                                                                      .spent = {.tokens = 500},
                                                                      .reserved = {.tokens = 450},
                                                                      .may_come_back = true});
  CHECK(!refused(kPurchase, {of_tokens(1'000, 950, 50)}).may_come_back);
}

TEST_CASE("a budget that stays exhausted is named before one that may come back") {
  const auto answer = refused(kPurchase, {of_tokens(1'000, 0, 950), of_money(1'000, 950)});

  CHECK(answer.scope == "tenant:t");
  CHECK(!answer.may_come_back);
}

TEST_CASE("what costs nothing fits even into a budget that is overspent") {
  Purchase purchase = kPurchase;
  purchase.input_price = 0;
  purchase.output_price = 0;

  CHECK(granted(purchase, {of_money(10, 20)}) ==
        Reservation{.output_tokens = 50, .amount = {.tokens = 150}});
}

TEST_CASE("a least output above the output that is wanted means all of it") {
  Purchase purchase = kPurchase;
  purchase.least_output = 1'000;

  CHECK(granted(purchase, {of_tokens(150)}).output_tokens == 50);
  CHECK(refused(purchase, {of_tokens(149)}).scope == "agent:a");
}

TEST_CASE("the greatest numbers there are do not overflow") {
  Purchase purchase{
      .input_tokens = kMost, .output_tokens = kMost, .input_price = kMost, .output_price = kMost};

  CHECK(granted(purchase, {}).amount == Amount{.tokens = kMost, .picodollars = kMost});
  CHECK(refused(purchase, {of_money(kMost)}).scope == "tenant:t");
  CHECK(granted(purchase, {of_tokens(kMost)}).output_tokens == 0);
  CHECK(refused(purchase, {of_tokens(kMost, kMost, kMost)}).scope == "agent:a");
  CHECK(refused(purchase, {of_tokens(kLeast, kMost, kMost)}).scope == "agent:a");
}

TEST_CASE("what is granted fits, one more does not, and a refusal is due, whatever the numbers") {
  CHECK(rc::check([] {
    const Purchase purchase = any_purchase();
    const std::vector<BudgetAccount> accounts{any_account(), any_account()};
    const std::int64_t wanted = std::max<std::int64_t>(purchase.output_tokens, 0);
    const std::int64_t least = std::clamp<std::int64_t>(purchase.least_output, 0, wanted);
    const auto all_fit = [&](Wide output, bool counts_reserved) {
      return std::ranges::all_of(accounts, [&](const BudgetAccount& account) {
        return fits(purchase, output, account, counts_reserved);
      });
    };

    const Reserved answer = grant(purchase, accounts);

    if (const auto* reservation = std::get_if<Reservation>(&answer)) {
      RC_ASSERT(reservation->output_tokens >= least);
      RC_ASSERT(reservation->output_tokens <= wanted);
      RC_ASSERT(all_fit(reservation->output_tokens, true));
      RC_ASSERT(reservation->output_tokens == wanted ||
                !all_fit(Wide{reservation->output_tokens} + 1, true));
    } else {
      RC_ASSERT(!all_fit(least, true));
      RC_ASSERT(std::get<Exhausted>(answer).may_come_back == all_fit(least, false));
    }
  }));
}

}  // namespace treaty::store
