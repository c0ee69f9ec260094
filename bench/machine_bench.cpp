// What a step of a machine costs (P10): a loop that counts, in memory, durable alone, and durable
// beside 63 others. No agent is asked.
//
//   machine_bench [STEPS [DURABLE [TOGETHER]]]   Steps in memory, of one durable machine, of
//   all 64.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "bench/load/disk.h"
#include "bench/rows.h"
#include "treaty/machines/load.h"
#include "treaty/machines/run/runner.h"
#include "treaty/store/memory/memory_machines.h"
#include "treaty/store/sqlite/sqlite_store.h"

namespace {

namespace asio = boost::asio;
namespace machines = treaty::machines;
namespace store = treaty::store;
using Clock = std::chrono::steady_clock;

constexpr double kMicro = 1e6;
constexpr int kMachines = 64;

class Nobody final : public machines::Agents, public machines::ToolRunner {
 public:
  asio::awaitable<machines::Dynamic> call(const machines::AgentCall&) override {
    co_return nullptr;
  }
  asio::awaitable<std::optional<machines::ToolOutcome>> run(const machines::ToolInvocation&,
                                                            double) override {
    co_return std::nullopt;
  }
};

std::shared_ptr<const machines::Machine> counting(int steps, bool is_kept) {
  const std::string text = fmt::format(R"(
spec: flatmachine
spec_version: "4.2.1"
data:
  name: counting
  context: {{n: 0}}
  settings: {{max_steps: {}}}
  persistence: {{enabled: {}}}
  states:
    count:
      type: initial
      output_to_context: {{n: "{{{{ context.n | int + 1 }}}}"}}
      transitions:
        - {{condition: "context.n == '{}'", to: end}}
        - {{to: count}}
    end: {{type: final, output: {{n: context.n}}}}
)",
                                       steps + 1, is_kept, steps);
  auto loaded = machines::load_machine(text, {});
  if (!loaded.machine) {
    for (const auto& finding : loaded.violations) fmt::print(stderr, "{}\n", finding.message);
  }
  return loaded.machine;
}

double process_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicro;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Measured {
  double steps_per_second = 0;
  double cpu_microseconds = 0;  // Of the whole process, for one step.
  bool is_right = true;
};

// So many machines at once, each of so many steps.
Measured measure(store::MachineStore& kept, int count, int steps, bool is_kept) {
  const auto machine = counting(steps, is_kept);
  if (!machine) return {.is_right = false};
  Nobody nobody;
  const auto timeline = machines::real_timeline();
  const machines::HookRegistry hooks;
  const machines::World world{.agents = nobody,
                              .tools = nobody,
                              .timeline = *timeline,
                              .store = kept,
                              .hooks = hooks,
                              .open_machine = {}};
  asio::io_context loop(1);
  int completed = 0;
  const double cpu = process_seconds();
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    machines::Start start{.execution = fmt::format("{}-{}-{}", count, steps, i)};
    asio::co_spawn(loop, machines::run_machine(world, machine, std::move(start)),
                   [&](const std::exception_ptr&, const machines::Outcome& outcome) {
                     const bool is_done =
                         outcome.status == machines::Status::completed &&
                         outcome.path.size() == static_cast<std::size_t>(steps) + 1;
                     completed += is_done ? 1 : 0;
                   });
  }
  loop.run();
  const std::chrono::duration<double> took = Clock::now() - begin;
  const double all = static_cast<double>(count) * steps;
  return {.steps_per_second = all / took.count(),
          .cpu_microseconds = (process_seconds() - cpu) / all * kMicro,
          .is_right = completed == count};
}

// In a folder of its own.
double commit_microseconds(const std::string& folder) {
  std::filesystem::create_directory(folder);
  return bench::commit_microseconds(folder);
}

int number_of(std::string_view text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int run(const std::string& folder, int in_memory, int alone, int together) {
  const auto memory = store::open_memory_machines();
  measure(*memory, 1, in_memory / 10, false);
  const Measured unkept = measure(*memory, 1, in_memory, false);
  // By CPU time: the machine is shared, and nothing here waits for anybody.
  bench::tell({.id = "P10",
               .what = "machine steps, in memory, of one core",
               .measured = kMicro / unkept.cpu_microseconds,
               .unit = "steps/s",
               .goal = 300'000,
               .at_least = true,
               .beside = fmt::format("{:.2f} CPU us/step, {:.0f} steps/s by the clock on the wall; "
                                     "FlatMachines: TypeScript 33 k/s, Python 1.2 k/s",
                                     unkept.cpu_microseconds, unkept.steps_per_second)});
  if (alone == 0) return unkept.is_right ? 0 : 1;

  auto opened = store::open_sqlite_store(folder + "/treaty.db");
  if (!opened) {
    fmt::print(stderr, "machine_bench: {}\n", opened.error().message);
    return 1;
  }
  store::MachineStore& kept = (*opened)->machines();
  measure(kept, 1, alone / 10, true);
  const double commit = commit_microseconds(folder + "/before");
  const Measured one = measure(kept, 1, alone, true);
  const double commit_after = commit_microseconds(folder + "/after");
  const double commits_per_second = 2 * kMicro / (commit + commit_after);
  bench::tell(
      {.id = "P10",
       .what = "durable machine steps, one machine, by commits of the disk",
       .measured = one.steps_per_second / commits_per_second,
       .unit = "x",
       .goal = 0.8,
       .at_least = true,
       .beside = fmt::format("{:.0f} steps/s; the disk alone {:.0f} commits/s; {:.1f} CPU "
                             "us/step",
                             one.steps_per_second, commits_per_second, one.cpu_microseconds)});
  const Measured many = measure(kept, kMachines, together / kMachines, true);
  bench::tell({.id = "P10",
               .what = "durable machine steps, 64 machines",
               .measured = many.steps_per_second,
               .unit = "steps/s",
               .goal = 8'000,
               .at_least = true,
               .beside = fmt::format("the disk alone {:.0f} commits/s; {:.1f} CPU us/step",
                                     commits_per_second, many.cpu_microseconds)});
  return unkept.is_right && one.is_right && many.is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int in_memory = argc > 1 ? number_of(argv[1], 0) : 300'000;
  const int alone = argc > 2 ? number_of(argv[2], 0) : 2'000;
  const int together = argc > 3 ? number_of(argv[3], 0) : 19'200;
  std::string name = (std::filesystem::current_path() / "machine-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return 1;
  const int code = run(name, in_memory, alone, together);
  std::filesystem::remove_all(name);
  if (code != 0) fmt::print(stderr, "machine_bench: a machine did not end as it should\n");
  return code;
}
