// What the gateway needs while it does little: P8 with 10,000 idle event streams, P9 from its start
// to the first answer and at rest.
//
//   memory_bench [--streams N]    10000
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/crowd.h"
#include "bench/load/program.h"
#include "bench/rows.h"

namespace {

using bench::Folder;
using bench::Program;
using Clock = std::chrono::steady_clock;

constexpr int kClients = 32;

std::string turn(int session) {
  return bench::post(
      "/v1/agent/execute",
      fmt::format(R"({{"SessionId":"s{}","TurnId":"t1","Instruction":"Hello!"}})", session));
}

std::string errors_of(const Folder& folder) { return (folder.path() / "errors").string(); }

bool measure_start() {
  constexpr int kStarts = 9;
  std::vector<double> milliseconds;
  double resident = 0;
  for (int i = 0; i < kStarts; ++i) {
    const Folder folder;
    const auto arguments =
        serve(folder, "state", "agents: {default: {backends: [{scripted: demo}]}}\n");
    const auto start = Clock::now();
    const Program server(arguments, errors_of(folder));
    const auto ran = bench::run(server.port(), {.request = [](int, int) { return turn(1); }});
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    resident = std::max(resident, server.resident_kilobytes());
    if (ran.failed > 0) {
      fmt::print("no answer: {}\n", ran.first_failure);
      return false;
    }
  }
  std::ranges::sort(milliseconds);
  bench::tell({"P9", "start to the first answer", milliseconds[kStarts / 2], "ms", 30, false,
               fmt::format("fastest {:.1f} ms, slowest {:.1f} ms", milliseconds.front(),
                           milliseconds.back())});
  bench::tell({"P9", "RSS after one turn", resident / 1024, "MiB", 15, false, ""});
  return true;
}

// Each stream follows a session of its own.
bool measure_streams(int count) {
  const Folder folder;
  const Program server(serve(folder, "state",
                             "agents: {default: {backends: [{scripted: demo}]}}\n"
                             "http: {max_connections: 100000}\n"),
                       errors_of(folder));
  const auto ran = bench::run(
      server.port(), {.clients = kClients,
                      .requests = count,
                      .request = [session = 0](int, int) mutable { return turn(session++); }});
  if (ran.failed > 0) {
    fmt::print("no answer: {}\n", ran.first_failure);
    return false;
  }
  // What readers of the store keep of its pages is not the streams'.
  bench::run(server.port(),
             {.clients = kClients, .requests = count, .request = [session = 0](int, int) mutable {
                return fmt::format("GET /v1/sessions/s{}/turns HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                                   session++);
              }});
  const double before = server.resident_kilobytes();
  const bench::IdleStreams streams(server.port(), count, [](int i) {
    return fmt::format(
        "GET /v1/sessions/s{}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Accept: text/event-stream\r\nUser-Agent: memory_bench\r\n\r\n",
        i);
  });
  const double after = server.resident_kilobytes();
  bench::tell(
      {"P8", fmt::format("{} idle event streams", streams.begun()), (after - before) / count,
       "KB each", 4, false,
       fmt::format("{:.1f} MiB before, {:.1f} MiB with them", before / 1024, after / 1024)});
  return streams.begun() == count;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_told = argc == 3 && std::string_view(argv[1]) == "--streams";
  const int wanted = is_told ? std::atoi(argv[2]) : 10'000;
  const auto files = static_cast<int>(bench::raise_file_limit());
  const int streams = std::min(wanted, files - 200);
  if (streams < wanted) fmt::print("{} streams: the system allows {} files\n", streams, files);
  return measure_start() && measure_streams(streams) ? 0 : 1;
}
