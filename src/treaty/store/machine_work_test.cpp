// What every store of machines does with work: each item is done once, or told as lost.
#include <doctest/doctest.h>

#include "treaty/store/leases.h"
#include "treaty/testing/stores/machine_places.h"

namespace treaty::store {
namespace {

using testing::DirectoryPlace;
using testing::is_conflict;
using testing::MemoryPlace;
using testing::SqlitePlace;
using testing::wait_for;

using Texts = std::vector<std::string>;

const std::string kWorker = process_name() + ":1";
const std::string kOther = process_name() + ":2";

Texts push(MachineStore& store, Texts items, int max_retries = 3) {
  return wait_for(store.push_work("p", std::move(items), max_retries)).value_or(Texts{});
}

// Its data, and its id for what follows; "-" when there is none.
std::string claim(MachineStore& store, const std::string& worker, std::string* id = nullptr) {
  const auto item = wait_for(store.claim_work("p", worker)).value();
  if (!item) return "-";
  if (id != nullptr) *id = item->id;
  return item->data;
}

Texts counts(MachineStore& store) {
  const WorkCounts counts = wait_for(store.count_work("p")).value();
  return {std::to_string(counts.pending), std::to_string(counts.claimed),
          std::to_string(counts.completed), std::to_string(counts.poisoned)};
}

}  // namespace

TEST_CASE_TEMPLATE("items are given out in the order they came, each to one worker", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  CHECK(claim(*store, kWorker) == "-");

  const Texts ids = push(*store, {"1", "2"});
  REQUIRE(push(*store, {"3"}).size() == 1);

  REQUIRE(ids.size() == 2);
  CHECK(ids[0] != ids[1]);
  std::string id;
  CHECK(claim(*store, kWorker, &id) == "1");
  CHECK(id == ids[0]);
  CHECK(claim(*store, kOther) == "2");
  CHECK(claim(*store, kWorker) == "3");
  CHECK(claim(*store, kWorker) == "-");
  CHECK(counts(*store) == Texts{"0", "3", "0", "0"});
}

TEST_CASE_TEMPLATE("pools know nothing of each other", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto id = push(*store, {"1"}).front();

  CHECK(!wait_for(store->claim_work("a/../p", kWorker)).value());
  REQUIRE(claim(*store, kWorker) == "1");

  CHECK(is_conflict(wait_for(store->complete_work("other", id, kWorker, "{}"))));
  CHECK(wait_for(store->count_work("other")).value().claimed == 0);
  CHECK(counts(*store) == Texts{"0", "1", "0", "0"});
}

TEST_CASE_TEMPLATE("what is completed stays so", Place, SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto id = push(*store, {"1"}).front();
  CHECK(is_conflict(wait_for(store->complete_work("p", id, kWorker, "{}"))));
  REQUIRE(claim(*store, kWorker) == "1");

  CHECK(is_conflict(wait_for(store->complete_work("p", id, kOther, "{}"))));
  CHECK(wait_for(store->complete_work("p", id, kWorker, "{}")));

  CHECK(is_conflict(wait_for(store->complete_work("p", id, kWorker, "{}"))));
  CHECK(is_conflict(wait_for(store->fail_work("p", id, kWorker, "e"))));
  CHECK(claim(*store, kWorker) == "-");
  CHECK(counts(*store) == Texts{"0", "0", "1", "0"});
}

TEST_CASE_TEMPLATE(
    "what fails is tried again, in its old place, until it was tried max_retries times", Place,
    SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto id = push(*store, {"1", "2"}, 3).front();

  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto item = wait_for(store->claim_work("p", kWorker)).value();
    REQUIRE(item);
    CHECK(item->data == "1");
    CHECK(item->attempts == attempt);
    CHECK(is_conflict(wait_for(store->fail_work("p", id, kOther, "not mine"))));
    CHECK(wait_for(store->fail_work("p", id, kWorker, "no luck")));
  }

  CHECK(counts(*store) == Texts{"1", "0", "0", "1"});
  CHECK(claim(*store, kWorker) == "2");
}

TEST_CASE_TEMPLATE("without retries the first failure is the last", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto id = push(*store, {"1"}, 0).front();
  REQUIRE(claim(*store, kWorker) == "1");

  CHECK(wait_for(store->fail_work("p", id, kWorker, "e")));

  CHECK(counts(*store) == Texts{"0", "0", "0", "1"});
}

TEST_CASE_TEMPLATE("a worker that misses two heartbeats loses what it has", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const Texts ids = push(*store, {"1", "2", "3"});
  REQUIRE(claim(*store, kWorker) == "1");
  REQUIRE(claim(*store, kOther) == "2");
  place.pass(45);
  REQUIRE(claim(*store, kOther) == "3");
  REQUIRE(wait_for(store->heartbeat("p", kWorker)));

  place.pass(60);
  CHECK(wait_for(store->release_stale_work("p")).value().pending == 0);
  REQUIRE(wait_for(store->heartbeat("p", kWorker)));
  place.pass(1);

  CHECK(wait_for(store->release_stale_work("p")).value().pending == 2);
  CHECK(wait_for(store->release_stale_work("p")).value().pending == 0);
  CHECK(counts(*store) == Texts{"2", "1", "0", "0"});
  CHECK(is_conflict(wait_for(store->complete_work("p", ids[1], kOther, "{}"))));
  CHECK(wait_for(store->complete_work("p", ids[0], kWorker, "{}")));
  const auto again = wait_for(store->claim_work("p", kWorker)).value();
  CHECK(again->data == "2");
  CHECK(again->attempts == 2);
}

TEST_CASE_TEMPLATE("a worker whose process is gone loses what it has at once", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(push(*store, {"1", "2"}).size() == 2);
  const std::string name = process_name();
  const std::string gone = name.substr(0, name.rfind(':')) + ":1:0";  // Began at another time.
  REQUIRE(claim(*store, gone) == "1");
  REQUIRE(claim(*store, "some worker somewhere") == "2");

  CHECK(wait_for(store->release_stale_work("p")).value().pending == 1);

  CHECK(counts(*store) == Texts{"1", "1", "0", "0"});
}

TEST_CASE_TEMPLATE("an item whose workers die again and again is poisoned", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const Texts ids = push(*store, {"deadly", "harmless"}, 3);

  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto item = wait_for(store->claim_work("p", kWorker)).value();
    REQUIRE(item);
    CHECK(item->data == "deadly");
    place.pass(61);
    const ReleasedWork released = wait_for(store->release_stale_work("p")).value();
    CHECK(released.pending == (attempt < 3 ? 1 : 0));
    CHECK(released.poisoned.size() == (attempt < 3 ? 0 : 1));
    if (attempt == 3) CHECK(released.poisoned.front() == ReleasedWork::Poisoned{ids[0], 3});
  }

  CHECK(counts(*store) == Texts{"1", "0", "0", "1"});
  CHECK(claim(*store, kOther) == "harmless");
}

TEST_CASE_TEMPLATE("an item that waits can be taken up as often as it needs", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto id = push(*store, {"patient"}, 1).front();
  CHECK(is_conflict(wait_for(store->excuse_work("p", id, kWorker))));

  for (int round = 0; round < 5; ++round) {
    const auto item = wait_for(store->claim_work("p", kWorker)).value();
    REQUIRE(item);
    CHECK(item->attempts == 1);
    CHECK(is_conflict(wait_for(store->excuse_work("p", id, kOther))));
    REQUIRE(wait_for(store->excuse_work("p", id, kWorker)));
    CHECK(counts(*store) == Texts{"0", "1", "0", "0"});
    place.pass(61);
    CHECK(wait_for(store->release_stale_work("p")).value().pending == 1);
  }

  CHECK(counts(*store) == Texts{"1", "0", "0", "0"});
}

TEST_CASE_TEMPLATE("thousands of items are pushed in one call", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();

  CHECK(push(*store, Texts(5'000, R"({"a":"b\nc"})")).size() == 5'000);
  CHECK(push(*store, {}).empty());

  CHECK(counts(*store) == Texts{"5000", "0", "0", "0"});
  CHECK(claim(*store, kWorker) == R"({"a":"b\nc"})");
}

}  // namespace treaty::store
