#include "treaty/cli/shared/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

namespace treaty::cli {

Signals::Signals(std::initializer_list<int> numbers) : numbers_(numbers) {
  sigemptyset(&set_);
  for (const int number : numbers_) sigaddset(&set_, number);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC));
}

Signals::~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int Signals::wait() {
  int number = 0;
  while (sigwait(&set_, &number) != 0) {
  }
  return number;
}

std::optional<int> Signals::take() {
  const auto received = receive();
  if (!received) return std::nullopt;
  return received->number;
}

std::optional<Signals::Received> Signals::receive() {
  constexpr timespec kAtOnce{};
  siginfo_t about{};
  const int number = sigtimedwait(&set_, &about, &kAtOnce);
  if (number < 0) return std::nullopt;
  return Received{.number = number, .from_terminal = about.si_code == SI_KERNEL};
}

void Signals::let_go() {
  for (const int number : numbers_) signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
}

bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void do_watched(Signals& signals, const std::function<void()>& work,
                const std::function<void(int)>& on_signal) {
  const FileDescriptor done(eventfd(0, EFD_CLOEXEC));
  std::jthread worker([&] {
    work();
    constexpr std::uint64_t kOne = 1;
    [[maybe_unused]] const auto written = ::write(done.get(), &kOne, sizeof(kOne));
  });
  std::array<pollfd, 2> waiting = {pollfd{done.get(), POLLIN, 0},
                                   pollfd{signals.descriptor(), POLLIN, 0}};
  // Without an event to wait for there is only the thread's end.
  while (done && waiting[0].revents == 0) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[1].revents == 0) continue;
    if (const auto number = signals.take()) on_signal(*number);
  }
  worker.join();
}

}  // namespace treaty::cli
