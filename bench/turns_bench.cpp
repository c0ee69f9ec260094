// What a durable turn costs the gateway: P4 with a scripted backend, P5 over HTTP to `treaty mock`
// with the mock asked directly beside it, P11 as sessions and the store grow.
//
//   turns_bench [--turns N] [--store N] [--flat N] [--only P4|P5|P9|P11]
//     turns of each run (20000), in the large store (200000), and until memory is looked at (80000)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/crowd.h"
#include "bench/load/disk.h"
#include "bench/load/program.h"
#include "bench/rows.h"

namespace {

using bench::Folder;
using bench::Load;
using bench::Program;
using bench::Ran;

constexpr int kClients = 32;
constexpr int kTurnsOfSession = 10;  // Then a client opens another, so that none grows long.
constexpr double kMicro = 1e6;

struct Options {
  int turns = 20'000;
  int store = 200'000;
  int flat = 80'000;
  std::string_view only{};

  bool wants(std::string_view goal) const { return only.empty() || only == goal; }
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (name == "--turns") options.turns = value;
    if (name == "--store") options.store = value;
    if (name == "--flat") options.flat = value;
    if (name == "--only") options.only = argv[i + 1];
  }
  return options;
}

std::string scripted_agent(const Folder& folder) {
  const std::string script = folder.write(
      "script.yaml",
      "loop: true\nreplies:\n  - text: The build is green; three tests were added and one was "
      "mended. Nothing else has changed since yesterday.\n");
  return fmt::format(
      "agents: {{default: {{mode: General, system: You are brief., "
      "backends: [{{script: {}}}]}}}}\n",
      script);
}

std::string mocked_agent(std::uint16_t port) {
  return fmt::format(
      "providers: {{mock: {{kind: openai, base_url: \"http://127.0.0.1:{}/v1\", key: mock}}}}\n"
      "agents: {{default: {{mode: General, system: You are brief., "
      "backends: [{{provider: mock, model: gpt-4o}}]}}}}\n",
      port);
}

std::string turn(std::string_view session, int number) {
  return bench::post("/v1/agent/execute",
                     fmt::format(R"({{"SessionId":"{}","TurnId":"t{}","Instruction":"What has )"
                                 R"(changed since build {}? Answer in two sentences."}})",
                                 session, number, number));
}

// Short sessions, one after the other.
Load short_sessions(std::string_view name, int clients, int turns) {
  return {.clients = clients, .requests = turns, .request = [name](int client, int number) {
            return turn(fmt::format("{}-{}-{}", name, client, number / kTurnsOfSession), number);
          }};
}

struct Measured {
  Ran ran{};
  double cpu_microseconds = 0;  // Of the server, a turn.
};

Measured measure(const Program& server, const Load& load) {
  const double before = server.cpu_seconds();
  Measured measured{.ran = bench::run(server.port(), load)};
  measured.cpu_microseconds =
      (server.cpu_seconds() - before) * kMicro / std::max(measured.ran.answered, 1);
  const Ran& ran = measured.ran;
  if (ran.failed > 0) {
    fmt::print("{} of {} FAILED; the first: {}\n", ran.failed, ran.failed + ran.answered,
               ran.first_failure);
  }
  return measured;
}

void show(std::string_view what, const Measured& measured) {
  const Ran& ran = measured.ran;
  fmt::print("{:<46} {:>7.1f} CPU µs {:>7.0f}/s  p50 {:>7.0f} µs  p99 {:>7.0f} µs\n", what,
             measured.cpu_microseconds, ran.per_second(), ran.percentile(0.5),
             ran.percentile(0.99));
  std::fflush(stdout);
}

bool has_started(const Program& program, const Folder& folder) {
  if (program.port() != 0) return true;
  fmt::print(stderr, "turns_bench: it does not start; see {}\n",
             (folder.path() / "errors").string());
  return false;
}

std::string errors_of(const Folder& folder) { return (folder.path() / "errors").string(); }

bool measure_scripted(const Options& options) {
  const Folder folder;
  const Program server(serve(folder, "p4", scripted_agent(folder)), errors_of(folder));
  if (!has_started(server, folder)) return false;
  measure(server, short_sessions("warm", kClients, 500));
  const double commit = bench::commit_microseconds(folder.path().string());
  const Measured one = measure(server, short_sessions("one", 1, 500));
  const Measured many = measure(server, short_sessions("many", kClients, options.turns));
  show("a scripted turn, 1 client", one);
  show(fmt::format("scripted turns, {} clients", kClients), many);
  const auto beside =
      fmt::format("{:.0f} turns/s; a commit takes {:.0f} µs", many.ran.per_second(), commit);
  bench::tell(
      {"P4", "a durable turn, 32 clients", many.cpu_microseconds, "CPU µs", 120, false, beside});
  bench::tell({"P4", "the same", many.ran.per_second(), "turns/s", 5'000, true,
               fmt::format("{:.0f} commits/s one by one", kMicro / commit)});
  bench::tell({"P4", "p50 at one client", one.ran.percentile(0.5) / commit, "commits", 3, false,
               fmt::format("{:.0f} µs", one.ran.percentile(0.5))});
  return one.ran.failed + many.ran.failed == 0;
}

// What is kept in memory of sessions has a bound, which the first half reaches.
bool measure_memory(const Options& options) {
  const Folder folder;
  const Program server(serve(folder, "p9", scripted_agent(folder)), errors_of(folder));
  if (!has_started(server, folder)) return false;
  Load load = short_sessions("flat", kClients, options.flat);
  std::vector<double> resident;
  load.mark = std::max(options.flat / 4, 1);
  load.at_mark = [&](int) { resident.push_back(server.resident_kilobytes()); };
  const Measured measured = measure(server, load);
  if (resident.size() < 4) return false;
  bench::tell(
      {"P9", fmt::format("RSS after {} turns", options.flat), resident[3] / resident[1],
       "× that after half of them", 1.05, false,
       fmt::format("{:.1f}, {:.1f}, {:.1f}, {:.1f} MiB after each quarter", resident[0] / 1024,
                   resident[1] / 1024, resident[2] / 1024, resident[3] / 1024)});
  return measured.ran.failed == 0;
}

bool measure_mocked(const Options& options) {
  const Folder folder;
  const Program mock(bench::mock(), errors_of(folder));
  if (!has_started(mock, folder)) return false;
  const Program server(serve(folder, "p5", mocked_agent(mock.port())), errors_of(folder));
  if (!has_started(server, folder)) return false;
  measure(server, short_sessions("warm", kClients, 500));
  const Measured many = measure(server, short_sessions("many", kClients, options.turns));
  const Measured direct = measure(
      mock, {.clients = kClients, .requests = options.turns, .request = [](int, int number) {
               return bench::post(
                   "/v1/chat/completions",
                   fmt::format(R"({{"model":"gpt-4o","messages":[{{"role":"system","content":)"
                               R"("You are brief."}},{{"role":"user","content":"What has changed )"
                               R"(since build {}? Answer in two sentences."}}]}})",
                               number));
             }});
  show(fmt::format("turns on the mock, {} clients", kClients), many);
  show("the mock alone (its own CPU time)", direct);
  bench::tell({"P5", "a durable turn over HTTP to the mock", many.cpu_microseconds, "CPU µs", 180,
               false,
               fmt::format("{:.0f} turns/s; the mock asked directly: {:.0f}/s",
                           many.ran.per_second(), direct.ran.per_second())});
  return many.ran.failed + direct.ran.failed == 0;
}

// 32 sessions grow to 1,000 turns; the first and the last 50 of each are looked at.
bool measure_long_sessions() {
  constexpr int kWindow = 50;
  constexpr int kLength = 1'000;
  const Folder folder;
  const Program server(serve(folder, "p11", scripted_agent(folder)), errors_of(folder));
  if (!has_started(server, folder)) return false;
  measure(server, short_sessions("warm", kClients, 500));
  int done = 0;
  const auto grow = [&](int turns) {
    const int first = done;
    done += turns;
    return measure(server, {.clients = kClients,
                            .requests = kClients * turns,
                            .request = [first](int client, int number) {
                              return turn(fmt::format("long-{}", client), first + number);
                            }});
  };
  const Measured young = grow(kWindow);
  const Measured middle = grow(kLength - 2 * kWindow);
  const Measured old = grow(kWindow);
  show("turns 1 to 50 of a session", young);
  show("turns 51 to 950", middle);
  show("turns 951 to 1000", old);
  bench::tell(
      {"P11", "a turn after 1,000 others in its session",
       old.cpu_microseconds / young.cpu_microseconds, "× the first 50", 1.2, false,
       fmt::format("{:.0f} and {:.0f} CPU µs", old.cpu_microseconds, young.cpu_microseconds)});
  return young.ran.failed + middle.ran.failed + old.ran.failed == 0;
}

bool measure_large_store(const Options& options) {
  constexpr int kSmall = 1'000;
  constexpr int kTurns = 4'000;
  const Folder folder;
  const auto arguments = serve(folder, "store", scripted_agent(folder));
  Measured small;
  {
    const Program server(arguments, errors_of(folder));
    if (!has_started(server, folder)) return false;
    measure(server, short_sessions("first", kClients, kSmall));
    small = measure(server, short_sessions("small", kClients, kTurns));
  }
  const auto database = folder.path() / "store" / "treaty.db";
  const long turns = bench::multiply_journal(database.string(), options.store / (kSmall + kTurns));
  if (turns == 0) return false;
  const Program server(arguments, errors_of(folder));
  if (!has_started(server, folder)) return false;
  measure(server, short_sessions("again", kClients, kSmall));
  const Measured large = measure(server, short_sessions("large", kClients, kTurns));
  show("a store of 1,000 turns", small);
  show(fmt::format("a store of {} turns", turns), large);
  bench::tell(
      {"P11", fmt::format("a turn in a store of {} turns", turns),
       large.cpu_microseconds / small.cpu_microseconds, "× one of 1,000", 1.2, false,
       fmt::format("{:.0f} and {:.0f} CPU µs", large.cpu_microseconds, small.cpu_microseconds)});
  return small.ran.failed + large.ran.failed == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  bool all_well = true;
  if (options.wants("P4")) all_well = measure_scripted(options) && all_well;
  if (options.wants("P5")) all_well = measure_mocked(options) && all_well;
  if (options.wants("P9")) all_well = measure_memory(options) && all_well;
  if (options.wants("P11")) {
    all_well = measure_long_sessions() && measure_large_store(options) && all_well;
  }
  return all_well ? 0 : 1;
}
