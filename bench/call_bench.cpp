// What a call of a provider costs this side: CPU time of HttpBackend against `treaty mock`, plain
// and streamed, on kept connections; next to wrk on the same mock, where wrk is installed.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "bench/load/program.h"
#include "treaty/backends/http_backend.h"
#include "treaty/backends/providers/endpoint.h"

namespace {

namespace backends = treaty::backends;
using bench::Program;
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

Run run(const Program& mock, bool stream, int at_once) {
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
  const double mock_cpu = mock.cpu_seconds();
  const auto start = Clock::now();
  for (int i = 0; i < at_once; ++i) {
    boost::asio::co_spawn(context, call_again(backend, call, kCalls / at_once, measured.failures),
                          boost::asio::detached);
  }
  context.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  measured.cpu_microseconds = (cpu_seconds(RUSAGE_SELF) - cpu) * kMicro / kCalls;
  measured.mock_microseconds = (mock.cpu_seconds() - mock_cpu) * kMicro / kCalls;
  measured.calls_per_second = kCalls / seconds;
  return measured;
}

void report(std::string_view name, const Run& run) {
  fmt::print("{:<34} {:>7.1f} CPU µs/call {:>7.1f} CPU µs in the mock {:>8.0f} calls/s{}\n", name,
             run.cpu_microseconds, run.mock_microseconds, run.calls_per_second,
             run.failures == 0 ? "" : fmt::format("  {} FAILED", run.failures));
}

// The same request from wrk, for one second.
void run_wrk(const Program& mock) {
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
  const double mock_cpu = mock.cpu_seconds();
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
          .mock_microseconds = (mock.cpu_seconds() - mock_cpu) * kMicro / requests,
          .calls_per_second = per_second});
}

}  // namespace

int main() {
  const bench::Folder folder;
  const Program mock(bench::mock(), (folder.path() / "errors").string());
  if (mock.port() == 0) {
    fmt::print(stderr, "call_bench: {} mock does not start\n", bench::treaty_binary());
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
