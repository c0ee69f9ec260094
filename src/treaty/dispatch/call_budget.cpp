// What a call sets aside from its budgets before an attempt, and settles after it.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "treaty/dispatch/call_run.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;

// How soon a budget is looked at again that others have set aside for themselves: other processes
// notify nobody here.
constexpr Seconds kBudgetPoll = 1;

// Whoever waits for a budget gives up so long before the deadline: the answer is about the budget
// then, not about time.
constexpr Seconds kBeforeDeadline = 0.2;

constexpr Seconds kSettleAgain = 1;
constexpr double kDollar = 1e12;  // In picodollars.

std::string key_of(const std::vector<store::BudgetLimit>& limits) {
  std::string key;
  for (const auto& limit : limits) key += limit.scope + '\n';
  return key;
}

// "the agent default".
std::string words_of(const std::string& scope) {
  const std::size_t colon = scope.find(':');
  if (colon == std::string::npos) return scope;
  return fmt::format("the {} {}", scope.substr(0, colon), scope.substr(colon + 1));
}

class Place {
 public:
  Place(BudgetQueue& queue, std::string key, std::shared_ptr<Waker> waker)
      : queue_(queue), key_(std::move(key)), place_(queue_.join(key_, std::move(waker))) {}
  ~Place() { queue_.leave(key_, place_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool is_first() const { return queue_.is_first(key_, place_); }

 private:
  BudgetQueue& queue_;
  std::string key_;
  std::uint64_t place_;
};

// Until it is on the disk, so that nothing stays set aside that was not spent.
asio::awaitable<void> settle_again(std::shared_ptr<Pools> pools, store::BudgetStore& store,
                                   std::int64_t id, store::Amount spent, std::string key) {
  Waiter waiter(co_await asio::this_coro::executor);
  while (true) {
    co_await pools->clock().wait_until(waiter, steady_at(pools->now() + kSettleAgain));
    const auto settled = co_await store.settle_reservation(id, spent);
    if (settled || settled.error().code == ErrorCode::not_found) break;
  }
  pools->budget_queue().notify(key);
}

}  // namespace

// Nothing: there is no budget for it, or nobody knows, or nobody wants it any more; result_ says
// so.
asio::awaitable<std::optional<CallRun::SetAside>> CallRun::set_aside(const Choice& choice,
                                                                     const Source& source,
                                                                     const Pool& pool) {
  const auto& services = dispatcher_.services_;
  std::optional<Place> place;
  while (true) {
    if (is_cancelled()) co_return std::nullopt;
    std::optional<store::Exhausted> exhausted;
    store::Purchase wanted;
    if (!place || place->is_first()) {
      const double unix_now = dispatcher_.pools().unix_now();
      std::optional<results::Price> price;
      if (services.prices != nullptr) {
        price = services.prices->find(source.provider_kind, choice.model, unix_now);
      }
      SetAside aside{
          .purchase = purchase_of(call_, choice, pool.estimate(), price, order_.budgets, unix_now)};
      const auto reserved = co_await services.budgets->reserve(aside.purchase);
      if (!reserved) {
        result_ = backends::failed_result("store_unavailable", "Store",
                                          "the budget cannot be read now", true);
        co_return std::nullopt;
      }
      if (const auto* granted = std::get_if<store::Reservation>(&*reserved)) {
        aside.reservation = *granted;
        co_return aside;
      }
      exhausted = std::get<store::Exhausted>(*reserved);
      wanted = std::move(aside.purchase);
    }
    const Moment last = order_.deadline - kBeforeDeadline;
    if (exhausted && !exhausted->may_come_back) {
      fail_by_budget(*exhausted, wanted);
      co_return std::nullopt;
    }
    if (now() >= last) {
      fail_by_budget(exhausted.value_or(store::Exhausted{.scope = order_.budgets.front().scope}),
                     wanted);
      co_return std::nullopt;
    }
    if (!place) {
      observer_.on_waiting(
          choice, 0,
          {DispatchRule::budget, "other calls have set aside what is left of the budget"});
      place.emplace(dispatcher_.pools().budget_queue(), key_of(order_.budgets), waiter().waker());
    }
    co_await pause(std::min(now() + kBudgetPoll, last));
  }
}

// What cannot be settled now stays set aside until it can be.
asio::awaitable<void> CallRun::settle(const SetAside& aside, store::Amount spent) {
  const auto& services = dispatcher_.services_;
  const std::string key = key_of(order_.budgets);
  const auto settled = co_await services.budgets->settle_reservation(aside.reservation.id, spent);
  if (!settled && settled.error().code != ErrorCode::not_found) {
    asio::co_spawn(
        executor_,
        settle_again(services.pools, *services.budgets, aside.reservation.id, spent, key),
        asio::detached);
  }
  services.pools->budget_queue().notify(key);
}

// A call that does not fit into an untouched budget does not fit into that of another day.
void CallRun::fail_by_budget(const store::Exhausted& exhausted, const store::Purchase& wanted) {
  const Seconds wait = until_next_day(dispatcher_.pools().unix_now());
  std::string left_text;
  std::string advice = "it is renewed at midnight UTC";
  bool helps_to_wait = true;
  const std::int64_t needed = wanted.input_tokens + wanted.least_output;
  for (const auto& limit : order_.budgets) {
    if (limit.scope != exhausted.scope) continue;
    const auto left = [](std::int64_t most, std::int64_t spent, std::int64_t reserved) {
      return std::max<std::int64_t>(most - spent - reserved, 0);
    };
    if (limit.picodollars) {
      const auto dollars =
          left(*limit.picodollars, exhausted.spent.picodollars, exhausted.reserved.picodollars);
      left_text = fmt::format("{:.4f} of {:.2f} dollars", static_cast<double>(dollars) / kDollar,
                              static_cast<double>(*limit.picodollars) / kDollar);
    }
    if (!limit.tokens) continue;
    const bool is_untouched = exhausted.spent.tokens == 0 && exhausted.reserved.tokens == 0;
    if (is_untouched && needed > *limit.tokens) {
      helps_to_wait = false;
      advice = fmt::format(
          "this request may take {}: raise tokens_per_day, or lower max_output_tokens or "
          "reasoning.budget_tokens",
          needed);
    }
    const auto tokens = left(*limit.tokens, exhausted.spent.tokens, exhausted.reserved.tokens);
    left_text +=
        fmt::format("{}{} of {} tokens", left_text.empty() ? "" : " and ", tokens, *limit.tokens);
    limits_.push_back({.name = "tokens_per_day",
                       .limit = static_cast<double>(*limit.tokens),
                       .length = kDay,
                       .remaining = static_cast<double>(tokens),
                       .resets_in = wait});
  }
  result_ = backends::failed_result(
      "budget_exhausted", "Budget",
      fmt::format("today's budget of {} has {} left, less than this request may take; {}",
                  words_of(exhausted.scope), left_text, advice),
      helps_to_wait);
  if (!helps_to_wait) return;
  result_.rate_limit = contracts::RateLimitState{.limited = true, .retry_after = wait};
}

}  // namespace treaty::dispatch
