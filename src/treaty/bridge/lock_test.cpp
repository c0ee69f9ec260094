#include "treaty/bridge/lock.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "treaty/base/files.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;

namespace fs = std::filesystem;

namespace {

class Room {
 public:
  const std::string& path() const { return path_; }
  void write(std::string_view text) const { REQUIRE(replace_file(path_, text)); }
  void write_holder(const Process& process) const {
    write(fmt::format(R"({{"pid": {}, "started": "{}", "boot": "{}", "command": "run"}})",
                      process.pid, process.started, process.boot));
  }
  std::string text() const { return read_file(path_, 4096).value_or("?"); }

 private:
  testing::TemporaryDirectory directory_{};
  std::string path_ = directory_.path() + "/lock";
};

// Another process: does its work, says so, and waits until it is killed.
class Stranger {
 public:
  explicit Stranger(const std::function<bool()>& work = [] { return true; }) {
    std::array<int, 2> ready{};
    REQUIRE(pipe(ready.data()) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char done = work() ? 'y' : 'n';
      [[maybe_unused]] const auto written = write(ready[1], &done, 1);
      while (true) pause();
    }
    close(ready[1]);
    char done = 'n';
    REQUIRE(read(ready[0], &done, 1) == 1);
    close(ready[0]);
    REQUIRE(done == 'y');
  }
  ~Stranger() { reap(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  pid_t pid() const { return pid_; }

  // It is dead afterwards, but nobody has asked for its end.
  void leave_unburied() const {
    kill(pid_, SIGKILL);
    siginfo_t about{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOWAIT) == 0);
  }

  void reap() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

// Holds the lock until it is killed.
class Holding {
 public:
  explicit Holding(const std::string& path)
      : stranger_([&] {
          static auto lock = Lock::take(path, "watch");
          return lock.has_value();
        }) {}
  Stranger& process() { return stranger_; }

 private:
  Stranger stranger_;
};

}  // namespace

TEST_CASE("a lock is free, held while somebody has it, and free again") {
  const Room room;
  CHECK(look_at_lock(room.path()).state == LockState::free);
  {
    const auto lock = Lock::take(room.path(), "run");
    REQUIRE(lock);

    const LockView view = look_at_lock(room.path());
    CHECK(view.state == LockState::held);
    REQUIRE(view.holder);
    CHECK(view.holder->process == this_process());
    CHECK(view.holder->command == "run");
  }
  CHECK(look_at_lock(room.path()).state == LockState::free);
  CHECK(!look_at_lock(room.path()).holder);
}

TEST_CASE("nobody takes a lock twice, not even the same process") {
  const Room room;
  const auto first = Lock::take(room.path(), "run");
  REQUIRE(first);
  const std::string before = room.text();

  const auto second = Lock::take(room.path(), "answer");

  REQUIRE(!second);
  CHECK(second.error().code == ErrorCode::conflict);
  CHECK(second.error().message.contains("treaty bridge run"));
  CHECK(room.text() == before);
}

TEST_CASE("the lock of another process names it, and is taken over when it was killed") {
  const Room room;
  Holding other(room.path());

  const auto refused = Lock::take(room.path(), "run");
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::conflict);
  CHECK(refused.error().message.contains(fmt::format("process {}", other.process().pid())));
  CHECK(look_at_lock(room.path()).state == LockState::held);

  other.process().reap();

  CHECK(look_at_lock(room.path()).state == LockState::dead);
  CHECK(Lock::take(room.path(), "run"));
}

TEST_CASE("a holder that was killed has let go, even when nobody has asked for its exit code") {
  const Room room;
  Holding other(room.path());
  const auto process = find_process(other.process().pid());
  REQUIRE(process);

  other.process().leave_unburied();

  CHECK(find_process(other.process().pid()) == process);
  CHECK(!is_running(*process));
  CHECK(look_at_lock(room.path()).state == LockState::dead);
  CHECK(Lock::take(room.path(), "run"));
}

TEST_CASE("a lock that moves stays held, and is let go once") {
  const Room room;
  auto first = Lock::take(room.path(), "run");
  REQUIRE(first);
  {
    const Lock moved = *std::move(first);
    CHECK(!Lock::take(room.path(), "run"));
  }
  CHECK(Lock::take(room.path(), "run"));
}

TEST_CASE("a living holder counts even when it has no lock of the system") {
  const Room room;
  const Stranger stranger;
  const auto process = find_process(stranger.pid());
  REQUIRE(process);
  room.write_holder(*process);

  CHECK(look_at_lock(room.path()).state == LockState::held);
  CHECK(Lock::take(room.path(), "run").error().code == ErrorCode::conflict);
}

TEST_CASE("a later process with the number of the holder is not the holder") {
  const Room room;
  const Stranger stranger;
  auto process = *find_process(stranger.pid());
  process.started += "1";
  room.write_holder(process);

  CHECK(look_at_lock(room.path()).state == LockState::dead);
  CHECK(Lock::take(room.path(), "run"));
}

TEST_CASE("a holder of another boot is dead, whoever has its number now") {
  const Room room;
  const Stranger stranger;
  auto process = *find_process(stranger.pid());
  process.boot = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001";
  room.write_holder(process);

  CHECK(look_at_lock(room.path()).state == LockState::dead);
  CHECK(Lock::take(room.path(), "run"));
}

TEST_CASE("a lock file that says nothing sensible holds nobody up") {
  const Room room;
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("locked"), std::string("{\"pid\": 0}"),
        std::string("{\"pid\": -1}"), std::string("{\"pid\": 99999999999}"),
        std::string("{\"pid\": \"1\"}"), std::string(10'000, 'x'), std::string("\0\0", 2)}) {
    CAPTURE(text);
    room.write(text);

    CHECK(look_at_lock(room.path()).state == LockState::free);
    CHECK(Lock::take(room.path(), "run"));
  }
}

TEST_CASE("what is no file is no lock, and a link is not followed") {
  const Room room;
  fs::create_directory(room.path());
  CHECK(Lock::take(room.path(), "run").error().code == ErrorCode::unavailable);
  fs::remove(room.path());

  fs::create_symlink(room.path() + ".elsewhere", room.path());
  CHECK(Lock::take(room.path(), "run").error().code == ErrorCode::unavailable);
  CHECK(!fs::exists(room.path() + ".elsewhere"));
  CHECK(!Lock::take(room.path() + "/nowhere", "run"));
}

TEST_CASE("processes are told apart, and this one is there") {
  const Process here = this_process();
  CHECK(here.pid == getpid());
  CHECK(!here.started.empty());
  CHECK(is_running(here));

  Stranger stranger;
  const auto other = find_process(stranger.pid());
  REQUIRE(other);
  CHECK(is_running(*other));
  stranger.reap();
  CHECK(!is_running(*other));
  CHECK(!find_process(other->pid));
}

TEST_CASE("a process is found whatever it calls itself") {
  const Stranger stranger([] {
    FILE* name = fopen("/proc/self/comm", "w");
    return name != nullptr && fputs(") R 1 (", name) >= 0 && fclose(name) == 0;
  });

  const auto process = find_process(stranger.pid());

  REQUIRE(process);
  CHECK(std::ranges::all_of(process->started, [](char c) { return c >= '0' && c <= '9'; }));
  CHECK(is_running(*process));
}

TEST_CASE("who holds a lock is told in words, also when nobody knows") {
  CHECK(text_of(std::nullopt) == "another process");
  CHECK(text_of(Holder{.process = {.pid = 7}}) == "process 7 (treaty bridge ?, since ?)");
}
