// Starts a program, in its own process group, with pipes for its three streams; and what the system
// tells of any process.
#pragma once

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "treaty/base/process/file_descriptor.h"

namespace treaty::process {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Program {
  std::vector<std::string> words;  // What is run, looked for in PATH, and its arguments.
  std::string directory = ".";     // Where it runs; a relative path in `words` starts there.
  Variables variables{};           // Beside those of this process, or in their place.
  bool may_be_outlived = false;    // By processes that it has started; else they end with it.
};

// The program in few words, for messages.
std::string text_of(const Program& program);

// The variables of this process and those, "NAME=value" each.
std::vector<std::string> environment_with(const Variables& variables);

struct ProcessStatus {
  char state = '?';
  std::string started{};  // In ticks since the boot.

  // Its parent may not have asked for its exit code yet.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// Nothing when there is no such process.
std::optional<ProcessStatus> status_of(pid_t pid);

// Pointers into the texts, with a null at the end, as exec takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

// Our ends do not block and are not inherited by anybody. The process is the caller's to wait for.
struct Spawned {
  pid_t pid = -1;
  FileDescriptor in{};   // Its stdin, to write to,
  FileDescriptor out{};  // its stdout
  FileDescriptor err{};  // and its stderr, to read from.
};

// The error says why it cannot be started.
std::expected<Spawned, std::string> spawn(const Program& program);

}  // namespace treaty::process
