#include "treaty/store/sqlite/budgets.h"

#include <doctest/doctest.h>

#include <limits>

#include "treaty/testing/stores/budget_purchases.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::open_store;
using testing::OtherProcess;
using testing::wait_for;
using namespace testing::budgets;  // NOLINT: the vocabulary of these tests.

bool reserves_600(Store& store) { return reserve(store, tokens(600)) != 0; }

struct BudgetsFixture {
  testing::TemporaryDirectory directory;
  std::string path = directory.path() + "/treaty.db";
  std::unique_ptr<Store> store = open_store(path);

  // Another process, which has 600 tokens reserved.
  std::unique_ptr<OtherProcess> other_process() {
    store.reset();
    auto other = std::make_unique<OtherProcess>(path, reserves_600);
    store = open_store(path);
    return other;
  }
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

TEST_CASE_FIXTURE(BudgetsFixture, "extreme numbers in the file do not overflow") {
  const std::int64_t id = reserve(*store, tokens(600));
  auto file = sqlite::Database::open(path, sqlite::Access::write);
  REQUIRE(file);
  file->execute(
      "UPDATE spending SET tokens = -9223372036854775808, reserved_tokens = -9223372036854775808,"
      "calls = 9223372036854775807; UPDATE shares SET tokens = -9223372036854775808");
  REQUIRE(!file->take_failure());

  REQUIRE(reserve(*store, tokens(600)) != 0);
  REQUIRE(settle(*store, id, 10));

  CHECK(today().spent.tokens == 10);
  CHECK(today().reserved.tokens == 600);
  CHECK(today().calls == kMost);
}

TEST_CASE_FIXTURE(BudgetsFixture, "only a process that runs turns sets something aside") {
  const auto reader = open_store(path, {.purpose = Purpose::read});
  const auto keeper = open_store(path, {.purpose = Purpose::maintain});

  CHECK(!wait_for(reader->reserve(tokens(1))));
  CHECK(!wait_for(keeper->reserve(tokens(1))));
  CHECK(!wait_for(keeper->settle_reservation(1, {})));

  REQUIRE(reserve(*store, tokens(1)) != 0);
  CHECK(wait_for(reader->spending(kToday)).value() == std::vector{of_agent(0, 1, 0)});
}

TEST_CASE_FIXTURE(BudgetsFixture, "closing a store turns its open reservations into spending") {
  REQUIRE(reserves_600(*store));
  store.reset();

  store = open_store(path, {.purpose = Purpose::read});

  CHECK(today() == of_agent(600, 0, 1));
}

TEST_CASE_FIXTURE(BudgetsFixture, "opening a store spends the reservations of a killed process") {
  {
    const auto other = other_process();
    REQUIRE(other->has_done_it());
    const auto third = open_store(path);
    CHECK(today() == of_agent(0, 600, 0));
  }

  const auto third = open_store(path);

  CHECK(today() == of_agent(600, 0, 1));
}

TEST_CASE_FIXTURE(BudgetsFixture,
                  "claiming abandoned turns spends the reservations of a killed process") {
  const auto other = other_process();
  REQUIRE(other->has_done_it());
  REQUIRE(wait_for(store->claim_abandoned({}, {})));
  CHECK(today() == of_agent(0, 600, 0));

  other->kill();
  REQUIRE(wait_for(store->claim_abandoned({}, {})));

  CHECK(today() == of_agent(600, 0, 1));
}

TEST_CASE_FIXTURE(BudgetsFixture,
                  "a refusal does not wait for the reservations of a killed process") {
  const auto other = other_process();
  REQUIRE(other->has_done_it());
  CHECK(refused(tokens(500)).may_come_back);

  other->kill();

  CHECK(refused(tokens(500)) ==
        Exhausted{.scope = "agent:a", .spent = {.tokens = 600, .picodollars = 1'200}});
  CHECK(today() == of_agent(600, 0, 1));
}

TEST_CASE_FIXTURE(BudgetsFixture,
                  "two stores on one file never grant more than the budget together") {
  const auto other = open_store(path);
  std::vector<Task<Reserved>> tasks;
  tasks.reserve(100);
  for (int i = 0; i < 100; ++i) {
    tasks.push_back((i % 2 == 0 ? *store : *other).reserve(tokens(30)));
  }

  std::int64_t granted = 0;
  for (const auto& answer : testing::wait_for_all(std::move(tasks))) {
    REQUIRE(answer);
    granted += std::holds_alternative<Reservation>(*answer) ? 30 : 0;
  }

  CHECK(granted == 990);
  CHECK(today() == of_agent(0, 990, 0));
}

TEST_CASE_FIXTURE(BudgetsFixture,
                  "on a full disk nothing is set aside or settled, and then it goes on") {
  const std::int64_t id = reserve(*store, tokens(600));
  REQUIRE(id != 0);
  CHECK(today() == of_agent(0, 600, 0));
  {
    const testing::FullDisk disk;
    const auto refusal = wait_for(store->reserve(tokens(10)));
    REQUIRE(!refusal);
    CHECK(refusal.error().code == ErrorCode::unavailable);
    CHECK(!settle(*store, id, 5));
    CHECK(!wait_for(store->save_pools({{"a", "1"}})));
    CHECK(refused(tokens(500)).may_come_back);
  }
  CHECK(today() == of_agent(0, 600, 0));
  CHECK(wait_for(store->pools()).value().empty());

  CHECK(reserve(*store, tokens(400)) != 0);
  CHECK(settle(*store, id, 5));

  CHECK(today() == of_agent(5, 400, 1));
}

}  // namespace treaty::store
