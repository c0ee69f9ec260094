#include "treaty/cli/shared/tool_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "treaty/base/process/pipe_signal.h"

namespace treaty::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A descriptor that is closed once.
class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;

  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
    return true;
  }
};

class Child {
 public:
  // An error number; 0: it runs.
  int start(const std::string& command, const Variables& variables);

  ProcessRun follow(std::string_view input, const ProcessLimits& limits, int interrupt);

 private:
  bool wait_for_bytes(Clock::time_point deadline);
  void write_input();
  void read_errors(std::size_t limit);
  bool has_ended();
  void kill_all();

  Pipe in_{};
  Pipe out_{};
  Pipe err_{};
  pid_t pid_ = -1;
  std::string_view input_{};
  std::array<pollfd, 4> waiting_{};
  milliseconds pause_{1};
  ProcessRun run_{};
};

// Its own process group, so that everything it starts can be ended with it; no signal blocked or
// ignored that we block or ignore.
int Child::start(const std::string& command, const Variables& variables) {
  if (!in_.open() || !out_.open() || !err_.open()) return errno;
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_.read_end.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_.write_end.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_.write_end.number(), STDERR_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t none{};
  sigset_t usual{};
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = {"sh", "-c", command};
  std::vector<std::string> environment = environment_with(variables);
  const int failed = posix_spawn(&pid_, "/bin/sh", &actions, &attributes, pointers_to(words).data(),
                                 pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return failed;
  in_.read_end.reset();
  out_.write_end.reset();
  err_.write_end.reset();
  for (const int ours : {in_.write_end.number(), out_.read_end.number(), err_.read_end.number()}) {
    fcntl(ours, F_SETFL, O_NONBLOCK);
  }
  return 0;
}

// Once both outputs are closed only the end itself is left, and nothing tells of it: then the
// pauses grow from a millisecond.
bool Child::wait_for_bytes(Clock::time_point deadline) {
  const bool outputs_open = out_.read_end.is_open() || err_.read_end.is_open();
  if (!outputs_open) pause_ = std::min(pause_ * 2, milliseconds(20));
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  const auto patience = std::clamp(left, milliseconds(0), outputs_open ? milliseconds(50) : pause_);
  waiting_[0] = {in_.write_end.number(), POLLOUT, 0};
  waiting_[1] = {out_.read_end.number(), POLLIN, 0};
  waiting_[2] = {err_.read_end.number(), POLLIN, 0};
  poll(waiting_.data(), waiting_.size(), static_cast<int>(patience.count()));
  return waiting_[3].revents != 0;
}

void Child::write_input() {
  if (!in_.write_end.is_open()) return;
  const ssize_t written = ::write(in_.write_end.number(), input_.data(), input_.size());
  if (written > 0) input_.remove_prefix(static_cast<std::size_t>(written));
  const bool later = written < 0 && (errno == EAGAIN || errno == EINTR);
  if (input_.empty() || (written < 0 && !later)) in_.write_end.reset();
}

// Appends what is there; closes the descriptor at its end.
void drain(Descriptor& from, std::string& to, std::size_t most) {
  std::array<char, 16384> piece{};
  while (from.is_open() && to.size() <= most) {
    const ssize_t count = read(from.number(), piece.data(), piece.size());
    if (count > 0) {
      to.append(piece.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      from.reset();
    } else {
      return;
    }
  }
}

void Child::read_errors(std::size_t limit) {
  std::string piece;
  drain(err_.read_end, piece, std::size_t{1} << 20U);
  run_.errors += piece;
  if (run_.errors.size() > limit) run_.errors.erase(0, run_.errors.size() - limit);
}

bool Child::has_ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  run_.end = WIFEXITED(status) ? ProcessEnd::exited : ProcessEnd::killed;
  run_.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  return true;
}

void Child::kill_all() {
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

ProcessRun Child::follow(std::string_view input, const ProcessLimits& limits, int interrupt) {
  input_ = input;
  waiting_[3] = {interrupt, POLLIN, 0};
  const auto began = Clock::now();
  const auto deadline = began + limits.time;
  std::optional<ProcessEnd> stopped;
  if (input_.empty()) in_.write_end.reset();
  while (!stopped) {
    if (wait_for_bytes(deadline)) stopped = ProcessEnd::interrupted;
    // Asked first: whoever has ended has written everything.
    const bool ended = has_ended();
    write_input();
    drain(out_.read_end, run_.output, limits.output_bytes);
    read_errors(limits.error_bytes);
    if (run_.output.size() > limits.output_bytes) stopped = ProcessEnd::too_large;
    if (ended) break;
    if (!stopped && Clock::now() >= deadline) stopped = ProcessEnd::timed_out;
  }
  if (pid_ >= 0) kill_all();
  if (stopped) run_.end = *stopped;
  run_.took = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
  return std::move(run_);
}

}  // namespace

ProcessRun run_process(const std::string& command, std::string_view input,
                       const Variables& variables, const ProcessLimits& limits, int interrupt) {
  const process::WithoutPipeSignal held_back;  // A child that reads no further must not end us.
  Child child;
  const int failed = child.start(command, variables);
  if (failed != 0) return {.errors = fmt::format("it cannot be started: {}", strerror(failed))};
  return child.follow(input, limits, interrupt);
}

}  // namespace treaty::cli
