#include "treaty/cli/running/signals.h"

#include <doctest/doctest.h>
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

}  // namespace treaty::cli
