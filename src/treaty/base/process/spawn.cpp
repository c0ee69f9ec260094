#include "treaty/base/process/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "treaty/base/text.h"

namespace treaty::process {
namespace {

constexpr std::size_t kMostText = 200;  // Bytes of a program in a message.

class Pipe {
 public:
  Pipe() = default;
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() { return pipe2(ends_.data(), O_CLOEXEC) == 0; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }

  int take_read_end() { return taken(ends_[0]); }
  int take_write_end() { return taken(ends_[1]); }

 private:
  static int taken(int& end) {
    fcntl(end, F_SETFL, O_NONBLOCK);
    return std::exchange(end, -1);
  }

  std::array<int, 2> ends_{-1, -1};
};

// Its own process group, so that everything it starts can be ended with it; no signal blocked or
// ignored that we block or ignore.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none{};
    sigset_t usual{};
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) sigaddset(&usual, number);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

std::string text_of(const Program& program) {
  std::string text;
  for (const std::string& word : program.words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  if (text.size() <= kMostText) return text;
  return fmt::format("{}…", utf8_prefix(text, kMostText));
}

std::expected<Spawned, std::string> spawn(const Program& program) {
  const auto fail = [&program](int number) {
    return std::unexpected(fmt::format("`{}` cannot be started in {}: {}", text_of(program),
                                       program.directory, std::strerror(number)));
  };
  if (program.words.empty()) return fail(EINVAL);
  Pipe in;
  Pipe out;
  Pipe err;
  if (!in.open() || !out.open() || !err.open()) return fail(errno);
  Actions actions;
  posix_spawn_file_actions_adddup2(actions.get(), in.read_end(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), err.write_end(), STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(actions.get(), program.directory.c_str());
  std::vector<std::string> words = program.words;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Spawned spawned;
  const Attributes attributes;
  const int failed = posix_spawnp(&spawned.pid, pointers.front(), actions.get(), attributes.get(),
                                  pointers.data(), environ);
  if (failed != 0) return fail(failed);
  spawned.in = in.take_write_end();
  spawned.out = out.take_read_end();
  spawned.err = err.take_read_end();
  return spawned;
}

}  // namespace treaty::process
