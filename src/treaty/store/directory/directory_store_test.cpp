// What is particular about a store in a directory: its layout, and files that others have written.
#include "treaty/store/directory/directory_store.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "treaty/testing/stores/machine_places.h"

namespace treaty::store {
namespace {

using testing::checkpoint_of;
using testing::lease_of;
using testing::leave_execution;
using testing::leave_waiting;
using testing::wait_for;
using testing::write_of;

using Texts = std::vector<std::string>;

struct Fixture : testing::DirectoryPlace {
  std::string read(const std::string& name) const {
    std::ifstream file(path() + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() + "/" + name, std::ios::binary) << bytes;
  }
  mode_t rights(const std::string& name) const {
    struct stat status{};
    ::stat((path() + "/" + name).c_str(), &status);
    return status.st_mode & 0777U;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an execution has the files that FlatMachines gives it") {
  const auto store = open();
  REQUIRE(lease_of(*store, "x1") == 1);
  REQUIRE(wait_for(store->write(write_of(
      "x1", 1, {checkpoint_of(0, "machine_start"), checkpoint_of(1, "state_enter")}, {"1", "2"}))));

  CHECK(read("x1/step_000000_machine_start.json") == checkpoint_of(0, "machine_start").snapshot);
  CHECK(read("x1/step_000001_state_enter.json") == checkpoint_of(1, "state_enter").snapshot);
  CHECK(read("x1/latest") == "x1/step_000001_state_enter.json");
  CHECK(read("x1/journal") == "1\n2\n");
}

TEST_CASE_FIXTURE(Fixture, "what it makes is for nobody else") {
  REQUIRE(leave_waiting(*open(), "x", "c"));
  REQUIRE(wait_for(open()->send_signal("c", "1")));
  REQUIRE(wait_for(open()->push_work("p", {"1"}, 3)));

  for (const char* name : {"", "x", ".signals", ".work"}) CHECK(rights(name) == 0700);
  for (const char* name : {"x/latest", "x/lease", "x/step_000001_waiting.json", ".lock"}) {
    CHECK(rights(name) == 0600);
  }
}

TEST_CASE_FIXTURE(Fixture, "what FlatMachines has written is read, listed, run and pruned") {
  REQUIRE(open().is_open());
  std::filesystem::create_directory(path() + "/theirs");
  std::filesystem::create_directory(path() + "/_configs");
  write("_configs/abc.yml", "spec: flatmachine");
  write("theirs/latest", "theirs/step_000003_waiting.json");
  write("theirs/step_000003_waiting.json",
        R"({"execution_id": "theirs", "machine_name": "m2", "current_state": "s", )"
        R"("step": 3, "event": "waiting", "waiting_channel": "c/1", "total_cost": 0.25})");
  const auto store = open();

  const auto rows = wait_for(store->list_executions()).value();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].machine == "m2");
  CHECK(rows[0].channel == "c/1");
  CHECK(rows[0].step == 3);
  CHECK(wait_for(store->find_execution("theirs")).value()->journal.empty());
  CHECK(wait_for(store->send_signal("c/1", "1")).value() == Texts{"theirs"});
  CHECK(testing::take(*store, "theirs", "c/1") == "1");
}

TEST_CASE_FIXTURE(Fixture,
                  "a torn line at the end of a journal is no line, and the next write cuts it") {
  const auto store = open();
  REQUIRE(lease_of(*store, "x") == 1);
  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint_of(1, "a")}, {"1"}))));
  write("x/journal", "1\n{\"torn\":");

  CHECK(wait_for(store->find_execution("x")).value()->journal == Texts{"1"});
  REQUIRE(wait_for(store->write(write_of("x", 1, {checkpoint_of(2, "b")}, {"2"}))));

  CHECK(read("x/journal") == "1\n2\n");
}

TEST_CASE_FIXTURE(Fixture, "a torn line at the end of a work pool is no line") {
  const auto store = open();
  REQUIRE(wait_for(store->push_work("p", {"1"}, 3)));
  const std::string file = std::filesystem::directory_iterator(path() + "/.work")->path().string();
  std::ofstream(file, std::ios::app) << R"({"event":"pushed","item":"tor)";

  CHECK(wait_for(open()->count_work("p")).value().pending == 1);
  CHECK(wait_for(store->push_work("p", {"2"}, 3)));
  CHECK(wait_for(open()->count_work("p")).value().pending == 2);
}

TEST_CASE_FIXTURE(Fixture, "damage is told with the file, and leaves the others usable") {
  const auto store = open();
  REQUIRE(leave_execution(*store, "good", checkpoint_of(1, "machine_end")));
  for (const char* pointer :
       {"", "nonsense", "bad/step_000009_gone.json", "good/step_000001_machine_end.json",
        "bad/../good/step_000001_machine_end.json"}) {
    std::filesystem::create_directories(path() + "/bad");
    write("bad/latest", pointer);

    const auto found = wait_for(store->find_execution("bad"));
    REQUIRE(!found);
    CHECK(found.error().code == ErrorCode::corrupt);
    CHECK(found.error().where == path() + "/bad/latest");
    CHECK(wait_for(store->find_execution("good")).value());
    CHECK(wait_for(store->list_executions()).value().size() == 2);
    CHECK(wait_for(store->send_signal("c", "1")));
  }
  write("bad/lease", "nonsense");
  CHECK(wait_for(store->acquire("bad")).error().code == ErrorCode::corrupt);
}

TEST_CASE_FIXTURE(Fixture, "a damaged execution can be pruned") {
  const auto store = open();
  REQUIRE(leave_execution(*store, "good", checkpoint_of(1, "machine_end")));
  std::filesystem::create_directory(path() + "/bad");
  write("bad/latest", "nonsense");

  CHECK(wait_for(store->prune_executions({.keep = 1})).value() == Texts{"bad"});
}

TEST_CASE_FIXTURE(Fixture, "a store of a later version is refused and stays as it is") {
  REQUIRE(leave_execution(*open(), "x", checkpoint_of(1, "machine_end")));
  for (const char* version : {"2", "99\n", "", "two"}) {
    write(".version", version);

    const auto opened = open_directory_store(path());
    REQUIRE(!opened);
    CHECK(opened.error().code == ErrorCode::too_new);
    CHECK(open_directory_store(path(), {.purpose = Purpose::read}).error().code ==
          ErrorCode::too_new);
  }
  write(".version", "1");
  CHECK(wait_for(open()->find_execution("x")).value());
}

TEST_CASE_FIXTURE(Fixture, "a file is no directory, and a place that cannot be made is told") {
  const std::string file = path();
  std::ofstream(file) << "something";

  for (const std::string& place : {file, file + "/below"}) {
    const auto opened = open_directory_store(place);
    REQUIRE(!opened);
    CHECK(opened.error().code == ErrorCode::unavailable);
  }
  CHECK(std::filesystem::file_size(file) == 9);
}

TEST_CASE_FIXTURE(Fixture, "directories above it are made, too") {
  const auto opened = open_directory_store(path() + "/a/b");

  REQUIRE(opened);
  CHECK(rights("a") == 0700);
  CHECK(lease_of(**opened, "x") == 1);
}

}  // namespace treaty::store
