// Several processes over one store of machines: nothing is done twice, nobody drives what another
// one drives, and what a killed one held is free.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>

#include <fstream>
#include <set>

#include "treaty/store/leases.h"
#include "treaty/testing/stores/machine_places.h"

namespace treaty::store {
namespace {

using testing::checkpoint_of;
using testing::DirectoryPlace;
using testing::lease_of;
using testing::SqlitePlace;
using testing::wait_for;
using testing::write_of;

constexpr int kProcesses = 4;

// Runs `deed` in so many processes at a time; true when it was true in all of them.
template <class Deed>
bool in_processes(int count, const Deed& deed) {
  std::vector<pid_t> children;
  for (int number = 0; number < count; ++number) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(deed(number) ? 0 : 1);
    children.push_back(child);
  }
  bool is_good = true;
  for (const pid_t child : children) {
    int status = 0;
    is_good = ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0 && is_good;
  }
  return is_good;
}

// All items until none is left; their ids in a file.
bool do_all_work(MachineStore& store, const std::string& record) {
  std::ofstream file(record);
  const std::string worker = process_name();
  while (true) {
    const auto item = wait_for(store.claim_work("p", worker));
    if (!item) return false;
    if (!*item) return file.good();
    file << (*item)->id << '\n';
    if (!wait_for(store.complete_work("p", (*item)->id, worker, "1"))) return false;
  }
}

// Takes the lease when it is free, and looks whether anybody else has it, too.
bool run_alone(MachineStore& store, const std::string& mark, int rounds) {
  for (int done = 0; done < rounds;) {
    const auto lease = wait_for(store.acquire("x"));
    if (!lease) {
      if (lease.error().code != ErrorCode::conflict) return false;
      continue;
    }
    const int file = ::open(mark.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return false;
    ::close(file);
    const std::string line = std::to_string(lease->token);
    if (!wait_for(
            store.write(write_of("x", lease->token, {checkpoint_of(1, "execute")}, {line})))) {
      return false;
    }
    ::unlink(mark.c_str());
    if (!wait_for(store.release("x", lease->token))) return false;
    ++done;
  }
  return true;
}

// Opens the place in another process, does something there, and stays until it is killed.
template <class Place, class Deed>
class Neighbour {
 public:
  Neighbour(Place& place, const Deed& deed) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      const auto store = place.open();
      const char said = deed(*store) ? 'y' : 'n';
      if (::write(ends[1], &said, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ends[1]);
    char heard = 'n';
    has_done_it_ = ::read(ends[0], &heard, 1) == 1 && heard == 'y';
    ::close(ends[0]);
  }
  ~Neighbour() { kill(); }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  bool has_done_it() const { return has_done_it_; }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  bool has_done_it_ = false;
};

}  // namespace

TEST_CASE_TEMPLATE("four processes do 2,000 items of a pool, each once", Place, SqlitePlace,
                   DirectoryPlace) {
  constexpr int kItems = 2'000;
  Place place;
  testing::TemporaryDirectory records;
  const auto record = [&](int number) { return fmt::format("{}/{}", records.path(), number); };
  {
    const auto store = place.open();
    REQUIRE(wait_for(store->push_work("p", std::vector<std::string>(kItems, "{}"), 3)));
  }

  CHECK(in_processes(kProcesses, [&](int number) {
    const auto store = place.open();
    return store.is_open() && do_all_work(*store, record(number));
  }));

  std::set<std::string> ids;
  int claims = 0;
  for (int number = 0; number < kProcesses; ++number) {
    std::ifstream file(record(number));
    for (std::string id; std::getline(file, id); ++claims) ids.insert(id);
  }
  CHECK(claims == kItems);
  CHECK(ids.size() == kItems);
  CHECK(wait_for(place.open()->count_work("p")).value().completed == kItems);
}

TEST_CASE_TEMPLATE("two processes never run one execution at a time", Place, SqlitePlace,
                   DirectoryPlace) {
  constexpr int kRounds = 40;
  Place place;
  testing::TemporaryDirectory marks;
  REQUIRE(place.open().is_open());

  CHECK(in_processes(kProcesses, [&](int) {
    const auto store = place.open();
    return store.is_open() && run_alone(*store, marks.path() + "/mark", kRounds);
  }));

  const auto found = wait_for(place.open()->find_execution("x")).value();
  REQUIRE(found);
  REQUIRE(found->journal.size() == kProcesses * kRounds);
  for (std::size_t i = 0; i < found->journal.size(); ++i) {
    CHECK(found->journal[i] == std::to_string(i + 1));  // Every token once, in their order.
  }
}

TEST_CASE_TEMPLATE("the lease of a process that is killed is free at once", Place, SqlitePlace,
                   DirectoryPlace) {
  Place place;
  Neighbour neighbour(place, [](MachineStore& store) {
    return lease_of(store, "x") == 1 &&
           wait_for(store.write(write_of("x", 1, {checkpoint_of(1, "execute")}, {"1"})));
  });
  REQUIRE(neighbour.has_done_it());
  const auto store = place.open();
  CHECK(wait_for(store->acquire("x")).error().code == ErrorCode::conflict);
  CHECK(wait_for(store->list_executions()).value().front().is_leased);
  CHECK(wait_for(store->prune_executions({.keep = 0})).value().empty());

  neighbour.kill();

  CHECK(!wait_for(store->list_executions()).value().front().is_leased);
  CHECK(lease_of(*store, "x") == 2);
  CHECK(wait_for(store->find_execution("x")).value()->journal == std::vector<std::string>{"1"});
}

TEST_CASE_TEMPLATE("the work of a process that is killed can be given to others at once", Place,
                   SqlitePlace, DirectoryPlace) {
  Place place;
  Neighbour neighbour(place, [](MachineStore& store) {
    return wait_for(store.push_work("p", {"1"}, 3)) &&
           wait_for(store.claim_work("p", process_name())).value();
  });
  REQUIRE(neighbour.has_done_it());
  const auto store = place.open();
  CHECK(wait_for(store->release_stale_work("p")).value().pending == 0);

  neighbour.kill();

  CHECK(wait_for(store->release_stale_work("p")).value().pending == 1);
  CHECK(wait_for(store->claim_work("p", process_name())).value()->attempts == 2);
}

}  // namespace treaty::store
