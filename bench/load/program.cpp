#include "bench/load/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace bench {
namespace {

std::filesystem::path own_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path();
}

std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

Folder::Folder() {
  std::string pattern = (own_folder() / "state-XXXXXX").string();
  if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  const auto file = path_ / name;
  std::ofstream(file) << text;
  return file.string();
}

Program::Program(std::vector<std::string> arguments, const std::string& error_file) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_file.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  if (posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ) != 0) {
    process_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string line = read_line(ends[0]);
  close(ends[0]);
  const std::size_t at = line.find("\"port\":");
  if (at != std::string::npos) {
    port_ = static_cast<std::uint16_t>(std::strtoul(line.c_str() + at + 7, nullptr, 10));
  }
}

Program::~Program() { end(); }

void Program::end() {
  if (process_ < 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

double Program::cpu_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double Program::resident_kilobytes() const {
  std::ifstream file(fmt::format("/proc/{}/status", process_));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

std::string treaty_binary() { return (own_folder().parent_path() / "treaty").string(); }

std::vector<std::string> serve(const Folder& folder, const std::string& state,
                               const std::string& more) {
  const std::string config = folder.write(state + ".yaml", more);
  return {treaty_binary(), "serve",       "--config",
          config,          "--state-dir", (folder.path() / state).string(),
          "--listen",      "127.0.0.1:0", "--format",
          "json"};
}

std::vector<std::string> mock() {
  return {treaty_binary(), "mock", "--port", "0", "--format", "json", "--quiet"};
}

std::size_t raise_file_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace bench
