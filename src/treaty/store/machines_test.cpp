// What every store of machines does: leases, writes, lists, prune.
#include "treaty/store/machines.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "treaty/base/timestamp.h"
#include "treaty/testing/stores/machine_places.h"

namespace treaty::store {
namespace {

using testing::checkpoint_of;
using testing::DirectoryPlace;
using testing::is_conflict;
using testing::lease_of;
using testing::leave_execution;
using testing::leave_waiting;
using testing::MemoryPlace;
using testing::SqlitePlace;
using testing::wait_for;
using testing::write_of;

using Texts = std::vector<std::string>;

template <class T>
bool is_refused(const std::expected<T, Error>& answer) {
  return !answer && answer.error().code == ErrorCode::wrong_usage;
}

Texts names_of(const std::vector<ExecutionRow>& rows) {
  Texts names;
  for (const ExecutionRow& row : rows) names.push_back(row.execution);
  return names;
}

Texts sorted(Texts texts) {
  std::ranges::sort(texts);
  return texts;
}

}  // namespace

// --- Ids and keys

TEST_CASE("an execution id is a name that a file can have, and that nobody has to escape") {
  for (const char* good : {"x", "run-1", "a.b", "ünïcode", "with space", "a:b", "-"}) {
    CHECK(is_execution_id(good));
  }
  CHECK(is_execution_id(std::string(200, 'x')));

  for (const char* bad : {"", ".", "..", ".hidden", "a/b", "/", "a\nb", "a\tb", "\x7f", "\xff"}) {
    CHECK(!is_execution_id(bad));
  }
  CHECK(!is_execution_id(std::string(201, 'x')));
  CHECK(!is_execution_id(std::string_view("a\0b", 3)));
}

TEST_CASE("the key of a checkpoint has its step in six digits or more") {
  CHECK(checkpoint_key("x1", {.event = "state_enter", .step = 1}) ==
        "x1/step_000001_state_enter.json");
  CHECK(checkpoint_key("x1", {.event = "waiting", .step = 1'234'567}) ==
        "x1/step_1234567_waiting.json");
}

TEST_CASE("a key tells step and event again, and what is no key tells nothing") {
  const auto parts = read_checkpoint_key("x1/step_000004_machine_end.json");
  REQUIRE(parts);
  CHECK(parts->step == 4);
  CHECK(parts->event == "machine_end");

  for (const char* bad :
       {"", "x/", "x/latest", "x/step_1.json", "x/step__e.json", "x/step_1_e", "x/step_a_e.json",
        "x/step_.json", "x/step_99999999999999999999_e.json"}) {
    CHECK(!read_checkpoint_key(bad));
  }
}

// --- Leases

TEST_CASE_TEMPLATE("an execution that nobody runs is whoever's asks for it first", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();

  CHECK(lease_of(*store, "x") == 1);
  CHECK(lease_of(*store, "y") == 1);

  const auto again = wait_for(store->acquire("x"));
  REQUIRE(is_conflict(again));
  CHECK(again.error().message.find(fmt::format(":{}:", ::getpid())) != std::string::npos);
}

TEST_CASE_TEMPLATE("a lease that is released is free, and the next token is one more", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const std::int64_t token = lease_of(*store, "x");

  CHECK(is_conflict(wait_for(store->release("x", token + 1))));
  CHECK(is_conflict(wait_for(store->acquire("x"))));
  CHECK(wait_for(store->release("x", token)));

  CHECK(is_conflict(wait_for(store->release("x", token))));
  CHECK(is_conflict(wait_for(store->renew("x", token))));
  CHECK(is_conflict(wait_for(store->write(write_of("x", token, {checkpoint_of(1, "e")})))));
  CHECK(lease_of(*store, "x") == token + 1);
}

TEST_CASE_TEMPLATE("a lease is good for 300 s, and renewed for as long again", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);

  place.pass(200);
  REQUIRE(wait_for(store->renew("x", 1)));
  place.pass(299);
  CHECK(is_conflict(wait_for(store->acquire("x"))));

  place.pass(1);
  CHECK(lease_of(*store, "x") == 2);
}

TEST_CASE_TEMPLATE("whoever has lost a lease can do nothing with it any more", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);
  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "state_enter")}, {"1"}))));
  place.pass(301);
  REQUIRE(lease_of(*store, "x") == 2);

  CHECK(is_conflict(wait_for(store->write(write_of("x", 1, {checkpoint_of(2, "e")}, {"2"})))));
  CHECK(is_conflict(wait_for(store->renew("x", 1))));
  CHECK(is_conflict(wait_for(store->release("x", 1))));
  CHECK(is_conflict(wait_for(store->take_signal(
      "c", [](const std::string&) { return MachineWrite{}; },
      write_of("x", 1, {checkpoint_of(2, "waiting")})))));

  const auto found = wait_for(store->find_execution("x")).value();
  REQUIRE(found);
  CHECK(found->latest_event == "state_enter");
  CHECK(found->journal == Texts{"1"});
  CHECK(wait_for(store->write(write_of("x", 2, {checkpoint_of(2, "e")}))));
}

TEST_CASE_TEMPLATE("a lease that has run out is good until somebody else takes it", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);
  place.pass(1'000);

  CHECK(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "state_enter")}))));
  CHECK(wait_for(store->renew("x", 1)));

  CHECK(is_conflict(wait_for(store->acquire("x"))));
}

TEST_CASE_TEMPLATE("names that could be another file are refused everywhere", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();

  for (const char* id : {"", ".", "..", "../x", "a/b", ".lock"}) {
    CHECK(is_refused(wait_for(store->acquire(id))));
    CHECK(is_refused(wait_for(store->write(write_of(id, 1, {})))));
    CHECK(is_refused(wait_for(store->take_signal(
        "c", [](const std::string&) { return MachineWrite{}; }, write_of(id, 1, {})))));
    CHECK(!wait_for(store->renew(id, 1)));
    CHECK(!wait_for(store->release(id, 1)));
    CHECK(!wait_for(store->find_execution(id)).value());
  }
}

// --- Writes

TEST_CASE_TEMPLATE("what was written is found again, latest and journal", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  CHECK(!wait_for(store->find_execution("x")).value());
  REQUIRE(lease_of(*store, "x") == 1);
  CHECK(!wait_for(store->find_execution("x")).value());

  REQUIRE(wait_for(store->write(
      write_of("x", 1, {checkpoint_of(0, "machine_start"), checkpoint_of(1, "state_enter", "a")},
               {R"({"n":1})", R"({"n":2})"}))));
  REQUIRE(wait_for(store->write(write_of("x", 1, {}, {R"({"n":3})"}))));

  const auto found = wait_for(store->find_execution("x")).value();
  REQUIRE(found);
  CHECK(found->execution == "x");
  CHECK(found->latest_event == "state_enter");
  CHECK(found->latest_step == 1);
  CHECK(found->snapshot == checkpoint_of(1, "state_enter", "a").snapshot);
  CHECK(found->journal == Texts{R"({"n":1})", R"({"n":2})", R"({"n":3})"});
  CHECK(!wait_for(store->find_execution("y")).value());
}

TEST_CASE_TEMPLATE("a checkpoint under a key that is there replaces what was there", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);
  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "execute", "old")}))));

  REQUIRE(wait_for(store->write(
      write_of("x", 1, {checkpoint_of(2, "execute"), checkpoint_of(1, "execute", "new")}))));

  const auto found = wait_for(store->find_execution("x")).value();
  CHECK(found->latest_step == 1);
  CHECK(found->snapshot == checkpoint_of(1, "execute", "new").snapshot);
}

TEST_CASE_TEMPLATE("snapshots and lines come back byte by byte", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);
  Checkpoint checkpoint = checkpoint_of(1, "execute");
  checkpoint.snapshot =
      "{\n\t\"a\": \"\\u0000 \xf0\x9f\x98\x80\", \"b\": \"" + std::string(300'000, 'b') + "\"}";
  const Texts lines{"\"\\n\\\"\"", "\"" + std::string(1'000'000, 'l') + "\"", "{}", "\"\r\""};

  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint}, lines))));

  const auto found = wait_for(store->find_execution("x")).value();
  CHECK(found->snapshot == checkpoint.snapshot);
  CHECK(found->journal == lines);
}

TEST_CASE_TEMPLATE("a line with a line break in it is refused, and all of its write", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);

  CHECK(is_refused(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "e")}, {"a\nb"})))));

  CHECK(!wait_for(store->find_execution("x")).value());
}

TEST_CASE_TEMPLATE("a write can release the lease", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();

  REQUIRE(leave_execution(*store, "x", checkpoint_of(3, "machine_end")));

  CHECK(!wait_for(store->list_executions()).value().front().is_leased);
  CHECK(lease_of(*store, "x") == 2);
}

// --- Lists and prune

TEST_CASE_TEMPLATE("executions are listed with what they did last, newest first", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  CHECK(wait_for(store->list_executions()).value().empty());
  REQUIRE(leave_execution(*store, "a", checkpoint_of(7, "machine_end", "end")));
  place.pass(1);
  REQUIRE(leave_waiting(*store, "b", "approval/1"));
  place.pass(1);
  REQUIRE(lease_of(*store, "c") == 1);
  REQUIRE(wait_for(store->write(write_of("c", 1, {checkpoint_of(2, "execute", "work")}))));
  REQUIRE(lease_of(*store, "never-written") == 1);

  const auto rows = wait_for(store->list_executions()).value();

  REQUIRE(names_of(rows) == Texts{"c", "b", "a"});
  CHECK(rows[0].machine == "m");
  CHECK(rows[0].event == "execute");
  CHECK(rows[0].state == "work");
  CHECK(rows[0].step == 2);
  CHECK(rows[0].channel.empty());
  CHECK(rows[0].is_leased);
  CHECK(rows[0].owner.find(fmt::format(":{}:", ::getpid())) != std::string::npos);
  CHECK(rows[0].updated_at == timestamp_of(place.now));
  CHECK(rows[1].channel == "approval/1");
  CHECK(!rows[1].is_leased);
  CHECK(rows[1].owner.empty());
  CHECK(rows[2].step == 7);
  CHECK(rows[2].updated_at == timestamp_of(place.now - 2'000));
}

TEST_CASE_TEMPLATE("a lease that has run out is not told as one", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(lease_of(*store, "x") == 1);
  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "execute")}))));

  place.pass(301);

  CHECK(!wait_for(store->list_executions()).value().front().is_leased);
}

TEST_CASE_TEMPLATE("prune takes the old ones, then all but the newest, and tells which", Place,
                   SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    REQUIRE(leave_execution(*store, id, checkpoint_of(1, "machine_end")));
    place.pass(10);
  }
  const Milliseconds before = place.now - 35'000;  // Between b and c.

  CHECK(wait_for(store->prune_executions({})).value().empty());
  CHECK(sorted(wait_for(store->prune_executions({.before = before, .only_count = true})).value()) ==
        Texts{"a", "b"});
  CHECK(wait_for(store->list_executions()).value().size() == 5);
  CHECK(sorted(wait_for(store->prune_executions({.before = before, .keep = 2})).value()) ==
        Texts{"a", "b", "c"});

  CHECK(names_of(wait_for(store->list_executions()).value()) == Texts{"e", "d"});
  CHECK(!wait_for(store->find_execution("a")).value());
  CHECK(sorted(wait_for(store->prune_executions({.keep = 0})).value()) == Texts{"d", "e"});
  CHECK(wait_for(store->list_executions()).value().empty());
}

TEST_CASE_TEMPLATE("prune takes nothing that is run or waits for a signal", Place, SqlitePlace,
                   DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "waiting", "c"));
  REQUIRE(leave_waiting(*store, "named", "tools/other"));
  REQUIRE(leave_waiting(*store, "left", "tools/left"));  // Its client never came back.
  REQUIRE(leave_execution(*store, "failed", checkpoint_of(1, "machine_error")));
  REQUIRE(lease_of(*store, "crashed") == 1);
  REQUIRE(wait_for(store->write(write_of("crashed", 1, {checkpoint_of(1, "execute")}))));
  place.pass(1'000);
  REQUIRE(lease_of(*store, "run") == 1);
  REQUIRE(wait_for(store->write(write_of("run", 1, {checkpoint_of(1, "execute")}))));

  const auto pruned =
      wait_for(store->prune_executions({.before = place.now + 1, .keep = 0})).value();

  CHECK(sorted(pruned) == Texts{"crashed", "failed", "left"});
  CHECK(sorted(names_of(wait_for(store->list_executions()).value())) ==
        Texts{"named", "run", "waiting"});
  CHECK(wait_for(store->write(write_of("run", 1, {checkpoint_of(2, "execute")}))));
}

TEST_CASE_TEMPLATE("of an execution that was pruned nothing is left for one of the same name",
                   Place, SqlitePlace, DirectoryPlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  REQUIRE(leave_waiting(*store, "x", "c"));
  REQUIRE(wait_for(store->send_signal("c", "\"for x\"")).value() == Texts{"x"});
  const std::int64_t token = lease_of(*store, "x");
  auto end = write_of("x", token, {checkpoint_of(9, "machine_end")}, {"\"line\""});
  end.releases = true;
  REQUIRE(wait_for(store->write(end)));
  REQUIRE(leave_execution(*store, "x0", checkpoint_of(1, "machine_end")));

  place.pass(1);
  REQUIRE(leave_execution(*store, "y", checkpoint_of(1, "machine_end")));
  REQUIRE(sorted(wait_for(store->prune_executions({.before = place.now})).value()) ==
          Texts{"x", "x0"});

  CHECK(testing::take(*store, "x", "c") == "-");
  const auto found = wait_for(store->find_execution("x")).value();
  CHECK(found->latest_event == "waiting");
  CHECK(found->journal.empty());
  CHECK(wait_for(store->find_execution("y")).value());
}

TEST_CASE_TEMPLATE("many executions are pruned in one call", Place, SqlitePlace, DirectoryPlace,
                   MemoryPlace) {
  Place place;
  const auto store = place.open();
  for (int i = 0; i < 120; ++i) {
    REQUIRE(leave_execution(*store, fmt::format("x{:03}", i), checkpoint_of(1, "machine_end")));
  }

  CHECK(wait_for(store->prune_executions({.keep = 1})).value().size() == 119);

  CHECK(names_of(wait_for(store->list_executions()).value()) == Texts{"x119"});
}

// --- Sessions

TEST_CASE_TEMPLATE("executions of a session that nobody runs are listed until they end or wait",
                   Place, SqlitePlace, MemoryPlace) {
  Place place;
  const auto store = place.open();
  const auto leave = [&](const std::string& execution, const char* event, std::int64_t session) {
    auto write = write_of(execution, lease_of(*store, execution), {checkpoint_of(1, event)});
    write.session = session;
    write.releases = true;
    return wait_for(store->write(std::move(write))).has_value();
  };
  const auto abandoned = [&] {
    Texts found;
    for (const auto& one : wait_for(store->list_abandoned()).value()) {
      found.push_back(fmt::format("{} of {}", one.execution, one.session));
    }
    return found;
  };

  REQUIRE(leave("a", "execute", 7));
  REQUIRE(leave("b", "machine_end", 7));
  REQUIRE(leave("c", "machine_error", 7));
  REQUIRE(leave("d", "waiting", 7));
  REQUIRE(leave("no session", "execute", 0));
  REQUIRE(leave("e", "machine_start", 8));
  CHECK(abandoned() == Texts{"a of 7", "e of 8"});

  REQUIRE(lease_of(*store, "a") != 0);
  CHECK(abandoned() == Texts{"e of 8"});

  place.pass(301);
  CHECK(abandoned() == Texts{"a of 7", "e of 8"});

  REQUIRE(leave("a", "machine_end", 0));
  CHECK(abandoned() == Texts{"e of 8"});
}

}  // namespace treaty::store
