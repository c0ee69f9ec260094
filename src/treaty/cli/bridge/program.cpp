#include "treaty/cli/bridge/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "treaty/base/process/spawn.h"

namespace treaty::cli {
namespace {

constexpr int kLook = 200;  // Milliseconds between looks where the system cannot wake us.

// Readable when the process is gone; none when the system has no such thing.
FileDescriptor descriptor_of(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

int failure_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// In the child, between fork and exec: only what is allowed there.
[[noreturn]] void become(char* const* words, char* const* environment, int report, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // It died before it could be told.
  sigset_t none{};
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvpe(words[0], words, environment);
  const int failure = errno;
  [[maybe_unused]] const auto written = ::write(report, &failure, sizeof(failure));
  _exit(127);
}

void wait_a_while(const FileDescriptor& gone, Signals& signals) {
  std::array<pollfd, 2> waiting = {pollfd{gone.get(), POLLIN, 0},
                                   pollfd{signals.descriptor(), POLLIN, 0}};
  poll(waiting.data(), waiting.size(), gone ? -1 : kLook);
}

}  // namespace

int find_program(const std::string& name) {
  if (name.contains('/') || name.empty()) return failure_of(name);
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  int worst = ENOENT;
  while (true) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    const int failure = failure_of(folder.empty() ? name : std::string(folder) + "/" + name);
    if (failure == 0) return 0;
    if (failure == EACCES) worst = EACCES;
    if (end == std::string_view::npos) return worst;
    rest.remove_prefix(end + 1);
  }
}

std::expected<BridgeProgram, int> BridgeProgram::start(const std::vector<std::string>& words,
                                                       const std::string& bridge_directory) {
  std::vector<std::string> kept = words;
  std::vector<std::string> variables =
      process::environment_with({{"TREATY_BRIDGE_DIR", bridge_directory}});
  const std::vector<char*> arguments = process::pointers_to(kept);
  const std::vector<char*> environment = process::pointers_to(variables);
  // Whoever started this process may not care for the ends of children; then nobody could learn how
  // this one ended.
  signal(SIGCHLD, SIG_DFL);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected(errno);
  const FileDescriptor report(ends[0]);
  FileDescriptor report_to(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(arguments.data(), environment.data(), report_to.get(), parent);
  const int fork_failure = errno;
  report_to.close();
  int failure = pid < 0 ? fork_failure : 0;
  // Nothing comes when exec has closed the pipe: then the program runs.
  ssize_t got = 0;
  while (pid > 0 && (got = read(report.get(), &failure, sizeof(failure))) < 0 && errno == EINTR) {
  }
  if (failure == 0) return BridgeProgram(pid);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return std::unexpected(failure);
}

ProgramEnd BridgeProgram::wait(Signals& signals) const {
  const FileDescriptor gone = descriptor_of(pid_);
  int asked_to = 0;
  int status = SIGKILL;  // Not a success, should nobody know.
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    wait_a_while(gone, signals);
    while (const auto received = signals.receive()) {
      if (received->number != SIGHUP) asked_to = received->number;
      if (!received->from_terminal) kill(pid_, received->number);
    }
  }
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status), .asked_to = asked_to};
  return {.code = WEXITSTATUS(status), .asked_to = asked_to};
}

int wait_for_other_process(const bridge::Process& process, Signals& signals) {
  const FileDescriptor gone = descriptor_of(process.pid);
  int signal = 0;
  while (signal == 0 && bridge::is_running(process)) {
    wait_a_while(gone, signals);
    signal = signals.take().value_or(0);
  }
  return signal;
}

}  // namespace treaty::cli
