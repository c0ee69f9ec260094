#include "treaty/cli/shared/signals.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace treaty::cli {

TEST_CASE("a signal that came before anybody waited is not lost") {
  Signals signals{SIGUSR1, SIGUSR2};
  CHECK(!signals.take());

  kill(getpid(), SIGUSR2);

  CHECK(signals.wait() == SIGUSR2);
  CHECK(!signals.take());
}

TEST_CASE("a signal reaches the thread that watches, while another one works") {
  Signals signals{SIGUSR1};
  std::atomic<bool> told = false;
  std::thread::id told_on;

  do_watched(
      signals,
      [&] {
        kill(getpid(), SIGUSR1);
        while (!told) std::this_thread::yield();
      },
      [&](int number) {
        told_on = std::this_thread::get_id();
        told = number == SIGUSR1;
      });

  CHECK(told_on == std::this_thread::get_id());
}

TEST_CASE("a signal that somebody sent is told from one that a key has sent") {
  Signals signals{SIGUSR1};
  kill(getpid(), SIGUSR1);
  const auto sent = signals.receive();
  REQUIRE(sent);
  CHECK(sent->number == SIGUSR1);
  CHECK(!sent->from_terminal);
  CHECK(!signals.receive());

  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    Signals keys{SIGINT};
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, "r", 1);
    pollfd waiting{keys.descriptor(), POLLIN, 0};
    poll(&waiting, 1, -1);
    const auto pressed = keys.receive();
    _exit(pressed && pressed->number == SIGINT && pressed->from_terminal ? 0 : 1);
  }
  char ready = 0;
  REQUIRE(::read(terminal, &ready, 1) == 1);
  REQUIRE(::write(terminal, "\x03", 1) == 1);
  int status = -1;
  waitpid(child, &status, 0);
  close(terminal);
  CHECK(status == 0);
}

TEST_CASE("what nohup has ignored is known") {
  CHECK(!is_ignored(SIGUSR1));
  const auto before = signal(SIGUSR1, SIG_IGN);

  CHECK(is_ignored(SIGUSR1));

  signal(SIGUSR1, before);
}

}  // namespace treaty::cli
