// Places where a whole store can be opened, for tests that hold for every implementation: a SQLite
// file and memory, each also with every decision run twice.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/memory_store.h"
#include "treaty/testing/stores/repeating_store.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::testing {

// What is opened here again finds what was written before. The place outlives its stores.
class StorePlace {
 public:
  virtual ~StorePlace() = default;
  virtual std::unique_ptr<store::Store> open() = 0;

  // Of the stores that are opened here, whose threads read it.
  virtual std::atomic<store::Milliseconds>& time() = 0;
};

class SqliteFile final : public StorePlace {
 public:
  std::atomic<store::Milliseconds>& time() override { return time_; }
  std::unique_ptr<store::Store> open() override {
    return open_store(path(), {.clock = testing::wall_clock([this] { return time_.load(); })});
  }
  std::string path() const { return directory_.path() + "/treaty.db"; }

 private:
  std::atomic<store::Milliseconds> time_ = 1'000;
  TemporaryDirectory directory_{quick_place()};
};

class InMemory final : public StorePlace {
 public:
  std::atomic<store::Milliseconds>& time() override { return time_; }
  std::unique_ptr<store::Store> open() override {
    return store::open_memory_store(
        {.clock = testing::wall_clock([this] { return time_.load(); }), .disk = disk_});
  }

 private:
  std::atomic<store::Milliseconds> time_ = 1'000;
  std::shared_ptr<store::MemoryDisk> disk_ = store::make_memory_disk();
};

// A store of another place in which every decision runs twice: the first time on a view in which
// nothing is there yet.
template <class Place>
class DecidingTwice final : public StorePlace {
 public:
  std::atomic<store::Milliseconds>& time() override { return place_.time(); }
  std::unique_ptr<store::Store> open() override { return std::make_unique<Owning>(place_.open()); }

 private:
  struct Holder {
    std::unique_ptr<store::Store> held;
  };
  struct Owning final : private Holder, RepeatingStore {
    explicit Owning(std::unique_ptr<store::Store> store)
        : Holder{std::move(store)}, RepeatingStore(*Holder::held) {
      first_view = [](const store::View&) { return store::View(); };
    }
  };

  Place place_{};
};

// A store in one of the places, for a suite of tests that runs in all of them.
struct StoreFixture {
  explicit StoreFixture(std::unique_ptr<StorePlace> at) : place(std::move(at)) {}

  std::unique_ptr<StorePlace> place;
  std::atomic<store::Milliseconds>& time = place->time();
  std::unique_ptr<store::Store> store = place->open();
};

}  // namespace treaty::testing

// A test case that runs on every store. FIXTURE has a constructor that takes a
// std::unique_ptr<StorePlace>.
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses.
#define TREATY_STORE_TEST_NAMED(TEST, FIXTURE, NAME)                                      \
  namespace {                                                                             \
  struct TEST : FIXTURE {                                                                 \
    using FIXTURE::FIXTURE;                                                               \
    void run();                                                                           \
  };                                                                                      \
  }                                                                                       \
  TEST_CASE_TEMPLATE(NAME, Place, treaty::testing::SqliteFile, treaty::testing::InMemory, \
                     treaty::testing::DecidingTwice<treaty::testing::SqliteFile>,         \
                     treaty::testing::DecidingTwice<treaty::testing::InMemory>) {         \
    TEST(std::make_unique<Place>()).run();                                                \
  }                                                                                       \
  void TEST::run()
// NOLINTEND(bugprone-macro-parentheses)
#define TREATY_STORE_TEST(FIXTURE, NAME) \
  TREATY_STORE_TEST_NAMED(DOCTEST_ANONYMOUS(StoreTest), FIXTURE, NAME)
