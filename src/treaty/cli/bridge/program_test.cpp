#include "treaty/cli/bridge/program.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "treaty/base/files.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::cli;

namespace {

constexpr int kHang = 60'000;  // Milliseconds after which something will never come.

ProgramEnd run(Signals& signals, const std::vector<std::string>& words,
               const std::string& directory = "/work") {
  const auto program = BridgeProgram::start(words, directory);
  REQUIRE(program);
  return program->wait(signals);
}

ProgramEnd run_script(Signals& signals, const std::string& script) {
  return run(signals, {"/bin/sh", "-c", script});
}

// What a script says on its standard output, which is this file.
class Paper {
 public:
  std::string path() const { return directory_.path() + "/paper"; }
  std::string text() const { return read_file(path(), std::size_t{1} << 20U).value_or("?"); }

 private:
  testing::TemporaryDirectory directory_{};
};

// True when the process has gone, or goes.
bool goes(pid_t pid) {
  const int gone = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (gone < 0) return errno == ESRCH;
  pollfd waiting{gone, POLLIN, 0};
  const bool went = poll(&waiting, 1, kHang) == 1;
  close(gone);
  return went;
}

// Does it in another process, and answers what that leaves with.
int elsewhere(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a program's exit code is passed through untouched") {
  Signals signals{};
  for (const int code : {0, 1, 42, 75, 127, 255}) {
    const ProgramEnd end = run_script(signals, fmt::format("exit {}", code));

    CHECK(end.code == code);
    CHECK(end.signal == 0);
    CHECK(end.asked_to == 0);
    CHECK(end.exit_code() == code);
  }
}

TEST_CASE("a program that a signal ended is told from one that left") {
  Signals signals{};

  const ProgramEnd end = run_script(signals, "kill -KILL $$");

  CHECK(end.signal == SIGKILL);
  CHECK(end.exit_code() == 128 + SIGKILL);
}

TEST_CASE("a program gets its arguments as they are, and the directory in its environment") {
  Signals signals{};
  const Paper paper;
  setenv("TREATY_BRIDGE_DIR", "/before", 1);

  run(signals,
      {"/bin/sh", "-c", R"(for word in "$@" "$TREATY_BRIDGE_DIR"; do echo "<$word>"; done > $0)",
       paper.path(), "", "a b", "$HOME", "*", "--resume"},
      "/the directory");
  unsetenv("TREATY_BRIDGE_DIR");

  CHECK(paper.text() == "<>\n<a b>\n<$HOME>\n<*>\n<--resume>\n</the directory>\n");
}

TEST_CASE("a program is looked up as a shell would do it") {
  Signals signals{};

  CHECK(run(signals, {"true"}).code == 0);
  CHECK(run(signals, {"false"}).code == 1);
}

TEST_CASE("a program that cannot be started says why, and leaves no process behind") {
  const Paper paper;
  REQUIRE(replace_file(paper.path(), "no program"));
  const std::vector<std::pair<std::string, int>> failures = {{"treaty-has-no-such-program", ENOENT},
                                                             {"", ENOENT},
                                                             {"/", EACCES},
                                                             {paper.path(), EACCES},
                                                             {paper.path() + "/x", ENOTDIR}};
  for (const auto& [name, failure] : failures) {
    CAPTURE(name);
    CHECK(BridgeProgram::start({name}, "/").error() == failure);
    CHECK(find_program(name) == failure);
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("what can be started is known before it is") {
  CHECK(find_program("true") == 0);
  CHECK(find_program("/bin/sh") == 0);
}

TEST_CASE("nothing is blocked in a program that is blocked here") {
  Signals signals{SIGINT, SIGTERM, SIGHUP};
  const Paper paper;

  run_script(signals, "grep SigBlk /proc/self/status > " + paper.path());

  CHECK(paper.text() == "SigBlk:\t0000000000000000\n");
}

TEST_CASE("a program has no descriptor but those that were meant for it") {
  Signals signals{SIGUSR1};
  const Paper before;
  const Paper after;
  run_script(signals, "ls /proc/self/fd > " + before.path());
  const testing::TemporaryDirectory directory;

  const auto lock = bridge::Lock::take(directory.path() + "/lock", "run");
  Signals more{SIGUSR2};
  run_script(signals, "ls /proc/self/fd > " + after.path());

  CHECK(!before.text().empty());
  CHECK(after.text() == before.text());
}

TEST_CASE("a signal that comes while a program runs is passed on to it") {
  Signals signals{SIGTERM};

  const ProgramEnd end =
      run_script(signals, "trap 'exit 7' TERM; kill -TERM $PPID; while :; do :; done");

  CHECK(end.code == 7);
  CHECK(end.asked_to == SIGTERM);
  CHECK(!signals.take());
}

TEST_CASE("the exit code is known even where nobody cares for the ends of children") {
  const int code = elsewhere([] {
    signal(SIGCHLD, SIG_IGN);  // As this process may have inherited it.
    Signals signals{};
    const auto program = BridgeProgram::start({"/bin/sh", "-c", "exit 42"}, "/");
    return program ? program->wait(signals).exit_code() : -1;
  });

  CHECK(code == 42);
}

TEST_CASE("a program ends when its driver is killed") {
  std::array<int, 2> told{};
  REQUIRE(pipe(told.data()) == 0);
  const pid_t driver = fork();
  if (driver == 0) {
    const auto program = BridgeProgram::start({"/bin/sh", "-c", "while :; do :; done"}, "/");
    const pid_t pid = program ? program->pid() : 0;
    [[maybe_unused]] const auto written = write(told[1], &pid, sizeof(pid));
    while (true) pause();
  }
  pid_t pid = 0;
  REQUIRE(read(told[0], &pid, sizeof(pid)) == sizeof(pid));
  close(told[0]);
  close(told[1]);
  REQUIRE(pid > 0);

  kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);

  CHECK(goes(pid));
}

TEST_CASE("a stranger is waited for until it is gone, even when nobody buries it") {
  Signals signals{SIGUSR1};
  const pid_t pid = fork();
  if (pid == 0) {
    while (true) pause();
  }
  const auto process = bridge::find_process(pid);
  REQUIRE(process);

  kill(getpid(), SIGUSR1);
  CHECK(wait_for_other_process(*process, signals) == SIGUSR1);

  kill(pid, SIGKILL);
  CHECK(wait_for_other_process(*process, signals) == 0);
  waitpid(pid, nullptr, 0);
  CHECK(wait_for_other_process(*process, signals) == 0);
}
