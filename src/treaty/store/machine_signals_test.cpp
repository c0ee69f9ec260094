// What every store of machines does with signals: in their order, to each that waits, once.
#include <doctest/doctest.h>

#include "treaty/testing/stores/machine_places.h"

namespace treaty::store {
namespace {

using testing::checkpoint_of;
using testing::DirectoryPlace;
using testing::lease_of;
using testing::leave_execution;
using testing::leave_waiting;
using testing::MemoryPlace;
using testing::SqlitePlace;
using testing::take;
using testing::wait_for;
using testing::write_of;

using Texts = std::vector<std::string>;

Texts send(MachineStore& store, const std::string& channel, const std::string& data) {
  return wait_for(store.send_signal(channel, data)).value_or(Texts{"failed"});
}

}  // namespace

TEST_CASE_TEMPLATE("a signal that nobody waits for is kept for the first who asks", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();

  CHECK(send(*store, "c", "1").empty());

  CHECK(take(*store, "other", "d") == "-");
  CHECK(take(*store, "x", "c") == "1");
  CHECK(take(*store, "y", "c") == "-");
}

TEST_CASE_TEMPLATE("signals of a channel are taken in the order they came", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  for (int i = 0; i < 12; ++i) REQUIRE(send(*store, "c", std::to_string(i)).empty());

  for (int i = 0; i < 12; ++i) {
    CHECK(take(*store, "x", "c") == std::to_string(i));
    if (i == 5) REQUIRE(send(*store, "c", "12").empty());
  }

  CHECK(take(*store, "x", "c") == "12");
  CHECK(take(*store, "x", "c") == "-");
}

TEST_CASE_TEMPLATE("each execution that waits on the channel gets a copy", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "a", "c"));
  REQUIRE(leave_waiting(*store, "b", "c"));
  REQUIRE(leave_waiting(*store, "elsewhere", "d"));
  REQUIRE(leave_execution(*store, "done", checkpoint_of(1, "machine_end")));

  CHECK(send(*store, "c", "1") == Texts{"a", "b"});

  CHECK(take(*store, "late", "c") == "-");
  CHECK(take(*store, "b", "c") == "1");
  CHECK(take(*store, "b", "c") == "-");
  CHECK(take(*store, "a", "c") == "1");
}

TEST_CASE_TEMPLATE("who has waited before and waits no more gets no copy", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "x", "c"));
  REQUIRE(leave_execution(*store, "x", checkpoint_of(2, "machine_end")));

  CHECK(send(*store, "c", "1").empty());

  CHECK(take(*store, "y", "c") == "1");
}

TEST_CASE_TEMPLATE("each who waits gets a copy of every signal, however late it takes them", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "x", "c"));
  REQUIRE(leave_waiting(*store, "y", "c"));
  CHECK(send(*store, "c", "1") == Texts{"x", "y"});
  CHECK(send(*store, "c", "2") == Texts{"x", "y"});

  CHECK(take(*store, "z", "c") == "-");
  CHECK(take(*store, "x", "c") == "1");
  CHECK(take(*store, "x", "c") == "2");
  CHECK(take(*store, "y", "c") == "1");
  CHECK(take(*store, "y", "c") == "2");
}

TEST_CASE_TEMPLATE("one who waits takes what was for it and what was for anyone in their order",
                   Place, SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "x", "c"));
  for (const char* data : {"1", "2", "3"}) REQUIRE(send(*store, "c", data) == Texts{"x"});

  for (const char* data : {"1", "2", "3", "-"}) CHECK(take(*store, "x", "c") == data);
}

TEST_CASE_TEMPLATE("taking a signal and what comes of it are one write", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(send(*store, "c", R"({"ok":true})").empty());

  REQUIRE(take(*store, "x", "c") == R"({"ok":true})");

  const auto found = wait_for(store->find_execution("x")).value();
  CHECK(found->latest_event == "state_exit");
  CHECK(found->journal == Texts{R"({"ok":true})"});
  CHECK(lease_of(*store, "x") == 2);
}

TEST_CASE_TEMPLATE("a signal that cannot be used is not gone", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(send(*store, "c", "1").empty());
  REQUIRE(lease_of(*store, "x") == 1);

  const auto waiting = write_of("x", 1, {checkpoint_of(1, "waiting", "wait", "c")});
  const auto stale = [](const std::string&) { return write_of("x", 7, {}); };
  CHECK(!wait_for(store->take_signal("c", stale, waiting)));
  const auto unheard = [](const std::string&) { return write_of("x", 1, {}, {"a\nb"}); };
  CHECK(!wait_for(store->take_signal("c", unheard, waiting)));

  CHECK(!wait_for(store->find_execution("x")).value());
  CHECK(take(*store, "y", "c") == "1");
}

TEST_CASE_TEMPLATE("channels have any name and signals any content", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const std::string data(200'000, 'd');
  const Texts channels{"a/b", "../c", "", ".", "quota: 50 % \xc3\xa4", "a\nb"};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    REQUIRE(send(*store, channels[i], fmt::format("\"{}\\n{}\"", data, i)).empty());
  }

  for (std::size_t i = channels.size(); i-- > 0;) {
    const bool is_same = take(*store, "x", channels[i]) == fmt::format("\"{}\\n{}\"", data, i);
    CHECK(is_same);
  }
}

}  // namespace treaty::store
