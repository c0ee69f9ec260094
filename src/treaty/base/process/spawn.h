// Starts a program: in its own process group, with pipes for its three streams.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

namespace treaty::process {

struct Program {
  std::vector<std::string> words;  // What is run, looked for in PATH, and its arguments.
  std::string directory = ".";     // Where it runs; a relative path in `words` starts there.
};

// The program in few words, for messages.
std::string text_of(const Program& program);

// Our ends do not block and are not inherited by anybody. They are the caller's to close, as the
// process is the caller's to wait for.
struct Spawned {
  pid_t pid = -1;
  int in = -1;   // Its stdin, to write to,
  int out = -1;  // its stdout
  int err = -1;  // and its stderr, to read from.
};

// The error says why it cannot be started.
std::expected<Spawned, std::string> spawn(const Program& program);

}  // namespace treaty::process
