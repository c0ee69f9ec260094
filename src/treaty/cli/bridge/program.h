// The program that a driver runs: a child with the driver's own terminal, which gets the signals
// that the driver gets.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

#include "treaty/bridge/lock.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

constexpr int kNotFound = 127;    // What a shell makes of a program that is not there,
constexpr int kNotStarted = 126;  // and of one that cannot be run.

// Whether there is a program of that name to start, by its path or by PATH: 0, or a number of
// errno.
int find_program(const std::string& name);

struct ProgramEnd {
  int code = 0;      // Its exit code,
  int signal = 0;    // or the signal that ended it.
  int asked_to = 0;  // The last signal that came meanwhile and asks to leave; 0: none.

  // What a shell would make of it.
  int exit_code() const { return signal != 0 ? 128 + signal : code; }
};

class BridgeProgram {
 public:
  // Is ended by the system when this process dies: nobody would drive it. Called on the main
  // thread. The error is a number of errno.
  static std::expected<BridgeProgram, int> start(const std::vector<std::string>& words,
                                                 const std::string& bridge_directory);

  pid_t pid() const { return pid_; }

  // Waits for its end, and passes signals on to it meanwhile. What the terminal sends, it has got
  // itself.
  ProgramEnd wait(Signals& signals) const;

 private:
  explicit BridgeProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// Waits until a process that is no child of ours is gone, or a signal comes, which is answered.
int wait_for_other_process(const bridge::Process& process, Signals& signals);

}  // namespace treaty::cli
