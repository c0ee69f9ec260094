// One driver per directory. The system's lock on the file says whether somebody is there; what the
// file holds says who, and lets a lock be judged whose holder took it in another way.
//
//   auto lock = bridge::Lock::take(path, "run");
//   if (!lock) std::cerr << lock.error().message;
//
// Threads: any thread may look at a lock, take it and release it. Whoever takes it excludes
// everybody else, other threads of this process included.
#pragma once

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "treaty/base/error.h"
#include "treaty/base/process/file_descriptor.h"

namespace treaty::bridge {

// A process, told apart from a later one with the same number.
struct Process {
  pid_t pid = 0;
  std::string started{};  // In ticks since the boot, as /proc tells it.
  std::string boot{};     // Which boot of the machine.
  bool operator==(const Process&) const = default;
};

// Nothing when there is no such process. One that has ended is there until its parent has asked for
// its exit code.
std::optional<Process> find_process(pid_t pid);
Process this_process();

// True when that very process is there and has not ended.
bool is_running(const Process& process);

struct Holder {
  Process process{};
  std::string command{};  // "run".
  std::string since{};    // RFC 3339.
};

enum class LockState { free, dead, held };

struct LockView {
  LockState state = LockState::free;
  std::optional<Holder> holder{};  // Also of a dead one.
};

// Looks without taking it.
LockView look_at_lock(const std::string& path);

// "process 4711 (treaty bridge run, since …)".
std::string text_of(const std::optional<Holder>& holder);

class Lock {
 public:
  // ErrorCode::conflict when somebody holds it; the lock of a dead process is taken over.
  static std::expected<Lock, Error> take(const std::string& path, const std::string& command);

  ~Lock();
  Lock(Lock&&) noexcept = default;
  Lock& operator=(Lock&&) noexcept = default;

 private:
  explicit Lock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace treaty::bridge
