#include "treaty/base/process/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "treaty/base/files.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::process {
namespace {

constexpr std::size_t kMostText = 200;  // Bytes of a program in a message.

struct Pipe {
  FileDescriptor read_end{};
  FileDescriptor write_end{};

  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
    return true;
  }
};

FileDescriptor without_blocking(FileDescriptor file) {
  fcntl(file.get(), F_SETFL, O_NONBLOCK);
  return file;
}

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
  std::string text = fmt::format("{}", fmt::join(program.words, " "));
  if (text.size() <= kMostText) return text;
  return fmt::format("{}…", utf8_prefix(text, kMostText));
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text(*line);
    const auto replaced = [&](const auto& variable) {
      return text.starts_with(variable.first) &&
             text.substr(variable.first.size()).starts_with('=');
    };
    if (std::ranges::none_of(variables, replaced)) lines.emplace_back(text);
  }
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::optional<ProcessStatus> status_of(pid_t pid) {
  constexpr std::size_t kMostOfStat = 4'096;
  constexpr int kFieldsToStart = 19;  // proc(5): `state` is field 3, `starttime` field 22.
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), kMostOfStat);
  if (!stat) return std::nullopt;
  // The second field is the name of the program in brackets, which may have any character in it.
  std::string_view rest = *stat;
  const std::size_t bracket = rest.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= rest.size()) return std::nullopt;
  rest.remove_prefix(bracket + 2);
  const char state = rest.front();
  for (int i = 0; i < kFieldsToStart; ++i) take_until(rest, ' ');
  const std::string_view started = take_until(rest, ' ');
  if (started.empty()) return std::nullopt;
  return ProcessStatus{state, std::string(started)};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
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
  posix_spawn_file_actions_adddup2(actions.get(), in.read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), err.write_end.get(), STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(actions.get(), program.directory.c_str());
  std::vector<std::string> words = program.words;
  std::vector<std::string> environment = environment_with(program.variables);
  Spawned spawned;
  const Attributes attributes;
  const int failed =
      posix_spawnp(&spawned.pid, words.front().c_str(), actions.get(), attributes.get(),
                   pointers_to(words).data(), pointers_to(environment).data());
  if (failed != 0) return fail(failed);
  spawned.in = without_blocking(std::move(in.write_end));
  spawned.out = without_blocking(std::move(out.read_end));
  spawned.err = without_blocking(std::move(err.read_end));
  return spawned;
}

}  // namespace treaty::process
