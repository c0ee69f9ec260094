// Holds SIGPIPE back while this thread writes: a reader that has gone is an error of the write, not
// our end.
#pragma once

#include <signal.h>

#include <ctime>

namespace treaty::process {

class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  // What came meanwhile is taken away, unless somebody else holds it back, too.
  ~WithoutPipeSignal() {
    constexpr timespec kAtOnce{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      while (sigtimedwait(&set_, nullptr, &kAtOnce) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace treaty::process
