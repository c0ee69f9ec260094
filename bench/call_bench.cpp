// What a call of a provider costs this side: CPU time of HttpBackend against `treaty mock`, plain
// and streamed, on kept connections; next to wrk on the same mock, where wrk is installed.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "treaty/backends/http_backend.h"
#include "treaty/backends/providers/endpoint.h"

namespace {

namespace backends = treaty::backends;
using Clock = std::chrono::steady_clock;

constexpr int kCalls = 4'000;
constexpr int kAtOnce = 8;
constexpr double kMicro = 1e6;

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicro;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// User and system time of another process, from /proc.
double cpu_seconds_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  unsigned long user = 0;
  unsigned long system = 0;
  std::sscanf(text.c_str() + after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
              &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// `treaty mock` on a free port, ended with this object.
class Mock {
 public:
  explicit Mock(const std::string& binary) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    std::array<const char*, 8> arguments = {binary.c_str(), "mock", "--port",  "0",
                                            "--format",     "json", "--quiet", nullptr};
    if (posix_spawn(&process_, binary.c_str(), &actions, nullptr,
                    const_cast<char* const*>(arguments.data()), environ) != 0) {
      process_ = 0;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    read_port(pipe_ends[0]);
    close(pipe_ends[0]);
  }
  ~Mock() {
    if (process_ == 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Mock(const Mock&) = delete;
  Mock& operator=(const Mock&) = delete;

  int port() const { return port_; }
  pid_t process() const { return process_; }

 private:
  void read_port(int pipe_end) {
    std::string line;
    for (char c = 0; read(pipe_end, &c, 1) == 1 && c != '\n';) line += c;
    const std::size_t at = line.find("\"port\":");
    if (at != std::string::npos) port_ = std::atoi(line.c_str() + at + 7);
  }

  pid_t process_ = 0;
  int port_ = 0;
};

struct NoSink : backends::Sink {
  void on_text(std::string_view) override {}
};

struct Run {
  double cpu_microseconds = 0;   // Of this process, a call.
  double mock_microseconds = 0;  // Of the mock.
  double calls_per_second = 0;
  int failures = 0;
};

boost::asio::awaitable<void> call_again(backends::HttpBackend& backend, const backends::Call& call,
                                        int times, int& failures) {
  NoSink sink;
  for (int i = 0; i < times; ++i) {
    const auto result = co_await backend.run(call, sink);
    if (!result.success()) ++failures;
  }
}

Run run(const Mock& mock, bool stream, int at_once) {
  boost::asio::io_context context;
  treaty::http::Client client(context, {.proxy_from_environment = false});
  const treaty::results::PriceTable prices;
  backends::HttpBackend backend(client,
                                {.provider = backends::find_provider("openai"),
                                 .protocol = &backends::chat_completions(),
                                 .base_url = fmt::format("http://127.0.0.1:{}/v1", mock.port()),
                                 .key = "mock-key"},
                                prices);
  const backends::Call call{
      .model = "gpt-4o",
      .messages = {backends::UserMessage{{backends::TextPart{"Say something short."}}}},
      .stream = stream};
  Run measured;
  const double cpu = cpu_seconds(RUSAGE_SELF);
  const double mock_cpu = cpu_seconds_of(mock.process());
  const auto start = Clock::now();
  for (int i = 0; i < at_once; ++i) {
    boost::asio::co_spawn(context, call_again(backend, call, kCalls / at_once, measured.failures),
                          boost::asio::detached);
  }
  context.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  measured.cpu_microseconds = (cpu_seconds(RUSAGE_SELF) - cpu) * kMicro / kCalls;
  measured.mock_microseconds = (cpu_seconds_of(mock.process()) - mock_cpu) * kMicro / kCalls;
  measured.calls_per_second = kCalls / seconds;
  return measured;
}

void report(std::string_view name, const Run& run) {
  fmt::print("{:<34} {:>7.1f} CPU µs/call {:>7.1f} CPU µs in the mock {:>8.0f} calls/s{}\n", name,
             run.cpu_microseconds, run.mock_microseconds, run.calls_per_second,
             run.failures == 0 ? "" : fmt::format("  {} FAILED", run.failures));
}

// The same request from wrk, for one second.
void run_wrk(const Mock& mock) {
  if (std::system("command -v wrk >/dev/null") != 0) {
    fmt::print("wrk: not installed (tools/setup --bench)\n");
    return;
  }
  const auto script =
      std::filesystem::temp_directory_path() / fmt::format("treaty-call-bench-{}.lua", getpid());
  std::ofstream(script) << "wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\n"
                           "wrk.body = '{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\","
                           "\"content\":\"Say something short.\"}]}'\n";
  const double cpu = cpu_seconds(RUSAGE_CHILDREN);
  const double mock_cpu = cpu_seconds_of(mock.process());
  std::FILE* output = popen(fmt::format("wrk -t1 -c{} -d2s -s {} http://127.0.0.1:{}/v1/chat/"
                                        "completions",
                                        kAtOnce, script.string(), mock.port())
                                .c_str(),
                            "r");
  std::array<char, 512> line{};
  double requests = 0;
  double per_second = 0;
  while (output != nullptr && std::fgets(line.data(), line.size(), output) != nullptr) {
    std::sscanf(line.data(), " %lf requests in", &requests);
    std::sscanf(line.data(), "Requests/sec: %lf", &per_second);
  }
  if (output != nullptr) pclose(output);
  std::filesystem::remove(script);
  if (requests == 0) return;
  report("wrk, 8 connections",
         {.cpu_microseconds = (cpu_seconds(RUSAGE_CHILDREN) - cpu) * kMicro / requests,
          .mock_microseconds = (cpu_seconds_of(mock.process()) - mock_cpu) * kMicro / requests,
          .calls_per_second = per_second});
}

}  // namespace

int main(int, char** argv) {
  const auto binary = std::filesystem::absolute(argv[0]).parent_path().parent_path() / "treaty";
  const Mock mock(binary.string());
  if (mock.port() == 0) {
    fmt::print(stderr, "call_bench: {} mock does not start\n", binary.string());
    return 1;
  }
  run(mock, false, 1);  // Connections, caches.
  const Run plain = run(mock, false, 1);
  report("a plain call, one at a time", plain);
  report("plain calls, 8 at once", run(mock, false, kAtOnce));
  report("a streamed call, one at a time", run(mock, true, 1));
  run_wrk(mock);
  return plain.failures == 0 ? 0 : 1;
}
