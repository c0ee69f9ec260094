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

#include "treaty/cli/shared/environment.h"

namespace treaty::cli {
namespace {

constexpr int kLook = 200;  // Milliseconds between looks where the system cannot wake us.

// Readable when the process is gone; -1 when the system has no such thing.
int descriptor_of(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

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

void wait_a_while(int gone, Signals& signals) {
  std::array<pollfd, 2> waiting = {pollfd{gone, POLLIN, 0},
                                   pollfd{signals.descriptor(), POLLIN, 0}};
  poll(waiting.data(), waiting.size(), gone < 0 ? kLook : -1);
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
  std::vector<std::string> variables = environment_with({{"TREATY_BRIDGE_DIR", bridge_directory}});
  const std::vector<char*> arguments = pointers_to(kept);
  const std::vector<char*> environment = pointers_to(variables);
  // Whoever started this process may not care for the ends of children; then nobody could learn how
  // this one ended.
  signal(SIGCHLD, SIG_DFL);
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return std::unexpected(errno);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(arguments.data(), environment.data(), report[1], parent);
  const int fork_failure = errno;
  close(report[1]);
  int failure = pid < 0 ? fork_failure : 0;
  // Nothing comes when exec has closed the pipe: then the program runs.
  ssize_t got = 0;
  while (pid > 0 && (got = read(report[0], &failure, sizeof(failure))) < 0 && errno == EINTR) {
  }
  close(report[0]);
  if (failure == 0) return BridgeProgram(pid);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return std::unexpected(failure);
}

ProgramEnd BridgeProgram::wait(Signals& signals) const {
  const int gone = descriptor_of(pid_);
  int asked_to = 0;
  int status = SIGKILL;  // Not a success, should nobody know.
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    wait_a_while(gone, signals);
    while (const auto received = signals.receive()) {
      if (received->number != SIGHUP) asked_to = received->number;
      if (!received->from_terminal) kill(pid_, received->number);
    }
  }
  if (gone >= 0) close(gone);
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status), .asked_to = asked_to};
  return {.code = WEXITSTATUS(status), .asked_to = asked_to};
}

int wait_for_other_process(const bridge::Process& process, Signals& signals) {
  const int gone = descriptor_of(process.pid);
  int signal = 0;
  while (signal == 0 && bridge::is_running(process)) {
    wait_a_while(gone, signals);
    signal = signals.take().value_or(0);
  }
  if (gone >= 0) close(gone);
  return signal;
}

}  // namespace treaty::cli
