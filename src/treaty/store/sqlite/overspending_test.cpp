// Budgets against a model of them: whoever reserves, settles, leaves or is cut off, and in whatever
// order, no budget is overspent, and nothing that was granted is forgotten.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::open_store;
using testing::wait_for;

constexpr std::int64_t kDay = 20'000;

using Dice = std::array<unsigned, 4>;

const std::array kBudgets = {
    BudgetLimit{.scope = "agent:a", .tokens = 500},
    BudgetLimit{.scope = "agent:b", .tokens = 400, .picodollars = 900},
    BudgetLimit{.scope = "tenant:t", .picodollars = 1'500},
};

bool is_within(const Amount& amount, const BudgetLimit& limit) {
  return (!limit.tokens || amount.tokens <= *limit.tokens) &&
         (!limit.picodollars || amount.picodollars <= *limit.picodollars);
}

void add(Amount& sum, const Amount& amount) {
  sum.tokens += amount.tokens;
  sum.picodollars += amount.picodollars;
}

// A reservation that was granted and is not settled.
struct Open {
  std::int64_t id = 0;
  std::size_t caller = 0;
  Purchase purchase{};
  Amount amount{};
};

class SpendingRun {
 public:
  SpendingRun() { open_all(); }

  // One step, chosen by four numbers.
  void step(const Dice& dice) {
    switch (dice[0] % 8) {
      case 0:
      case 1:
      case 2: return reserve_together(dice);
      case 3:
      case 4:
      case 5: return settle(dice);
      case 6: return leave(dice[1] % kCallers);
      default: return cut_off();
    }
  }

  void compare() {
    const auto rows = wait_for(callers_[0]->spending(kDay));
    RC_ASSERT(rows.has_value());
    std::map<std::string, Spending> expected = spent_;
    for (const Open& open : open_) {
      for (const BudgetLimit& limit : open.purchase.limits) {
        add(expected[limit.scope].reserved, open.amount);
      }
    }
    RC_ASSERT(rows->size() == expected.size());
    for (const Spending& row : *rows) {
      Spending& model = expected[row.scope];
      model.scope = row.scope;
      RC_ASSERT(row == model);
      Amount taken = row.spent;
      add(taken, row.reserved);
      RC_ASSERT(is_within(taken, *std::ranges::find(kBudgets, row.scope, &BudgetLimit::scope)));
    }
  }

 private:
  static constexpr std::size_t kCallers = 2;

  std::string path() const {
    return directory_.path() + "/" + std::to_string(generation_) + "/treaty.db";
  }

  void open_all() {
    for (auto& caller : callers_) {
      caller = open_store(path());
      RC_ASSERT(caller != nullptr);
    }
  }

  static Purchase purchase_of(const Dice& dice) {
    return {.day = kDay,
            .limits = {kBudgets[dice[1] % 2], kBudgets[2]},
            .input_tokens = dice[2] % 60,
            .output_tokens = dice[3] % 200,
            .least_output = dice[2] % 10,
            .input_price = dice[3] % 3,
            .output_price = dice[1] % 5};
  }

  // All callers at the same time.
  void reserve_together(const Dice& dice) {
    std::vector<Purchase> purchases;
    std::vector<Task<Reserved>> tasks;
    for (unsigned i = 0; i < 2 * kCallers; ++i) {
      purchases.push_back(purchase_of({0, dice[1] + i, dice[2] / (i + 1), dice[3] / (i + 1)}));
      tasks.push_back(callers_[i % kCallers]->reserve(purchases.back()));
    }
    const auto answers = testing::wait_for_all(std::move(tasks));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      RC_ASSERT(answers[i].has_value());
      const auto* granted = std::get_if<Reservation>(&*answers[i]);
      if (granted == nullptr) continue;
      RC_ASSERT(granted->output_tokens >=
                std::min(purchases[i].least_output, purchases[i].output_tokens));
      open_.push_back({granted->id, i % kCallers, purchases[i], granted->amount});
      for (const BudgetLimit& limit : purchases[i].limits) spent_[limit.scope];
    }
  }

  // At most what was granted.
  void settle(const Dice& dice) {
    if (open_.empty()) return;
    const auto which = open_.begin() + dice[1] % static_cast<unsigned>(open_.size());
    const Amount spent{.tokens = dice[2] % (which->amount.tokens + 1),
                       .picodollars = dice[3] % (which->amount.picodollars + 1)};
    RC_ASSERT(wait_for(callers_[which->caller]->settle_reservation(which->id, spent)).has_value());
    RC_ASSERT(!wait_for(callers_[which->caller]->settle_reservation(which->id, spent)).has_value());
    count(*which, spent);
    open_.erase(which);
  }

  // In good order, and comes back as another.
  void leave(std::size_t caller) {
    callers_[caller].reset();
    std::erase_if(open_, [&](const Open& open) {
      if (open.caller == caller) count(open, open.amount);
      return open.caller == caller;
    });
    callers_[caller] = open_store(path());
    RC_ASSERT(callers_[caller] != nullptr);
  }

  // The files as they are at this moment, in another place: what a power cut would leave.
  void cut_off() {
    const std::filesystem::path before = std::filesystem::path(path()).parent_path();
    ++generation_;
    const std::filesystem::path after = std::filesystem::path(path()).parent_path();
    std::filesystem::create_directory(after);
    for (const char* name : {"treaty.db", "treaty.db-wal"}) {
      std::error_code code;
      std::filesystem::copy_file(before / name, after / name, code);
    }
    open_all();
    for (const Open& open : open_) count(open, open.amount);
    open_.clear();
  }

  void count(const Open& open, const Amount& spent) {
    for (const BudgetLimit& limit : open.purchase.limits) {
      Spending& sums = spent_[limit.scope];
      add(sums.spent, spent);
      sums.calls += 1;
    }
  }

  testing::TemporaryDirectory directory_{testing::quick_place()};
  int generation_ = 0;
  std::map<std::string, Spending> spent_{};
  std::vector<Open> open_{};
  std::array<std::unique_ptr<Store>, kCallers> callers_{};
};

}  // namespace

TEST_CASE("whoever reserves, settles, leaves or is cut off, no budget is overspent") {
  CHECK(rc::check([](const std::vector<Dice>& steps) {
    SpendingRun run;
    constexpr std::size_t kMost = 12;  // More of them find nothing new, but take long.
    for (std::size_t i = 0; i < std::min(kMost, steps.size()); ++i) {
      run.step(steps[i]);
      run.compare();
    }
  }));
}

}  // namespace treaty::store
