#include "treaty/store/grants.h"

#include <algorithm>
#include <limits>

#include "treaty/base/number.h"

namespace treaty::store {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Of two that are not negative.
std::int64_t saturating_product(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(left, right, &product) ? kMost : product;
}

// Nothing below 0, and nothing left once it is overspent.
std::int64_t room_of(std::int64_t limit, std::int64_t spent, std::int64_t reserved) {
  const std::int64_t taken = saturating_sum(spent, reserved);
  return limit > taken ? limit - taken : 0;
}

// So much output fits into the room behind the input; -1 when not even the input does.
std::int64_t most_output(std::int64_t room, std::int64_t input, std::int64_t input_price,
                         std::int64_t output_price) {
  std::int64_t cost = 0;
  if (__builtin_mul_overflow(input, input_price, &cost) || cost > room) return -1;
  return output_price == 0 ? kMost : (room - cost) / output_price;
}

// The same under all limits of an account, of which so much is reserved.
std::int64_t most_output(const BudgetAccount& account, const Amount& reserved,
                         const Purchase& purchase) {
  std::int64_t most = kMost;
  if (account.limit.tokens) {
    const auto room = room_of(*account.limit.tokens, account.spent.tokens, reserved.tokens);
    most = std::min(most, most_output(room, purchase.input_tokens, 1, 1));
  }
  if (account.limit.picodollars) {
    const auto room =
        room_of(*account.limit.picodollars, account.spent.picodollars, reserved.picodollars);
    most = std::min(most, most_output(room, purchase.input_tokens, purchase.input_price,
                                      purchase.output_price));
  }
  return most;
}

Purchase without_negatives(Purchase purchase) {
  for (auto* number : {&purchase.input_tokens, &purchase.output_tokens, &purchase.least_output,
                       &purchase.input_price, &purchase.output_price}) {
    *number = std::max<std::int64_t>(*number, 0);
  }
  purchase.least_output = std::min(purchase.least_output, purchase.output_tokens);
  return purchase;
}

Amount cost_of(const Purchase& purchase, std::int64_t output) {
  return {
      .tokens = saturating_sum(purchase.input_tokens, output),
      .picodollars = saturating_sum(saturating_product(purchase.input_tokens, purchase.input_price),
                                    saturating_product(output, purchase.output_price))};
}

Exhausted refusal_of(const BudgetAccount& account, bool may_come_back) {
  return {.scope = account.limit.scope,
          .spent = account.spent,
          .reserved = account.reserved,
          .may_come_back = may_come_back};
}

}  // namespace

Amount set_aside(DaySums& sums, const Amount& amount) {
  const Amount share{
      .tokens = std::min(amount.tokens, kMost - sums.reserved.tokens),
      .picodollars = std::min(amount.picodollars, kMost - sums.reserved.picodollars)};
  sums.reserved.tokens += share.tokens;
  sums.reserved.picodollars += share.picodollars;
  return share;
}

void spend(DaySums& sums, const Amount& share, const std::optional<Amount>& spent) {
  const Amount& amount = spent ? *spent : share;
  sums.reserved = without_negatives({.tokens = sums.reserved.tokens - share.tokens,
                                     .picodollars = sums.reserved.picodollars - share.picodollars});
  sums.spent.tokens = saturating_sum(sums.spent.tokens, amount.tokens);
  sums.spent.picodollars = saturating_sum(sums.spent.picodollars, amount.picodollars);
  sums.calls = saturating_sum(sums.calls, 1);
}

Amount without_negatives(const Amount& amount) {
  return {.tokens = std::max<std::int64_t>(amount.tokens, 0),
          .picodollars = std::max<std::int64_t>(amount.picodollars, 0)};
}

Reserved grant(const Purchase& wanted, std::span<const BudgetAccount> accounts) {
  const Purchase purchase = without_negatives(wanted);
  std::int64_t output = purchase.output_tokens;
  const BudgetAccount* exhausted = nullptr;
  for (const BudgetAccount& account : accounts) {
    // Waiting for one that may come back is in vain while another does not.
    if (most_output(account, Amount{}, purchase) < purchase.least_output) {
      return refusal_of(account, false);
    }
    const std::int64_t most = most_output(account, account.reserved, purchase);
    if (most < purchase.least_output && exhausted == nullptr) exhausted = &account;
    output = std::min(output, most);
  }
  if (exhausted != nullptr) return refusal_of(*exhausted, true);
  return Reservation{.output_tokens = output, .amount = cost_of(purchase, output)};
}

}  // namespace treaty::store
