// Signals as things to wait for: blocked in every thread and read in one place, so that none comes
// at a bad moment.
#pragma once

#include <signal.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "treaty/base/process/file_descriptor.h"

namespace treaty::cli {

// Belongs to the main thread, and is made before any other thread is: they inherit what is blocked.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // The next one, waiting for it.
  int wait();

  // One that has come, if there is one.
  std::optional<int> take();

  struct Received {
    int number = 0;
    bool from_terminal = false;  // A key was pressed: everything in the foreground got it, too.
  };
  std::optional<Received> receive();

  // Readable while one is there; -1 when the system gives none.
  int descriptor() const { return descriptor_.get(); }

  // From here on each of them ends the process at once.
  void let_go();

 private:
  std::vector<int> numbers_;
  sigset_t set_{};
  sigset_t before_{};
  FileDescriptor descriptor_{};
};

// True when whoever started this process wants it to pass over the signal, as nohup does. One that
// is waited for would come all the same.
bool is_ignored(int number);

// Does `work` on a thread of its own and waits for its end. Each signal that comes meanwhile goes
// to `on_signal`, on this thread.
void do_watched(Signals& signals, const std::function<void()>& work,
                const std::function<void(int)>& on_signal);

}  // namespace treaty::cli
