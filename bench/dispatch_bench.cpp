// What dispatch adds to a call with nothing to decide: CPU time of a call through it, less that of
// the backend alone.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bench/rows.h"
#include "treaty/base/clock.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/testing/simulation/silence.h"

namespace {

namespace asio = boost::asio;
namespace dispatch = treaty::dispatch;
using treaty::contracts::AgentResult;
using treaty::testing::Silence;

constexpr int kCalls = 100'000;
constexpr int kRepetitions = 9;
constexpr double kGoal = 3;

double cpu_microseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micro = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return micro(usage.ru_utime) + micro(usage.ru_stime);
}

// Answers at once, with windows that leave room, as a provider's answer has them.
class Ready final : public treaty::backends::Backend {
 public:
  explicit Ready(bool tells_windows) {
    answer_.content = "Done.";
    answer_.usage = treaty::contracts::UsageInfo{.input_tokens = 100, .output_tokens = 20};
    if (!tells_windows) return;
    answer_.rate_limit.emplace();
    for (const char* name : {"requests_per_minute", "requests_per_day"}) {
      answer_.rate_limit->windows.push_back({.name = name,
                                             .resource = "requests",
                                             .remaining = 100'000,
                                             .limit = 100'000,
                                             .resets_in = 50});
    }
    for (const char* name : {"tokens_per_minute", "tokens_per_day"}) {
      answer_.rate_limit->windows.push_back({.name = name,
                                             .resource = "tokens",
                                             .remaining = 10'000'000,
                                             .limit = 10'000'000,
                                             .resets_in = 50});
    }
  }

  asio::awaitable<AgentResult> run(const treaty::backends::Call&,
                                   treaty::backends::Sink&) override {
    co_return answer_;
  }

 private:
  AgentResult answer_{};
};

// Microseconds a call.
double measure(asio::awaitable<void> calls) {
  asio::io_context loop(1);
  auto done = asio::co_spawn(loop, std::move(calls), asio::use_future);
  const double before = cpu_microseconds();
  loop.run();
  done.get();
  return (cpu_microseconds() - before) / kCalls;
}

asio::awaitable<void> call_directly(Ready& backend, const treaty::backends::Call& call) {
  Silence silence;
  for (int i = 0; i < kCalls; ++i) co_await backend.run(call, silence);
}

asio::awaitable<void> call_dispatched(dispatch::Dispatcher& dispatcher,
                                      const std::vector<dispatch::Choice>& chain,
                                      const treaty::backends::Call& call) {
  Silence silence;
  for (int i = 0; i < kCalls; ++i) {
    co_await dispatcher.run({.chain = chain, .deadline = 1e9}, call, silence, silence);
  }
}

struct Measured {
  double direct = 0;
  double dispatched = 0;
};

Measured median_of(bool tells_windows) {
  const auto backend = std::make_shared<Ready>(tells_windows);
  const treaty::backends::Call call{.model = "m"};
  const std::vector<dispatch::Choice> chain = {{.backend = "p", .model = "m"},
                                               {.backend = "p", .model = "n", .preference = 1}};
  std::vector<double> direct;
  std::vector<double> dispatched;
  for (int i = 0; i < kRepetitions; ++i) {
    dispatch::Dispatcher dispatcher(
        {{"p",
          {.backend = backend,
           .pool_of =
               [](const std::string& model) {
                 return dispatch::PoolName{.key = model, .provider = "p", .model = model};
               }}}},
        {.pools = std::make_shared<dispatch::Pools>(treaty::system_clock())});
    direct.push_back(measure(call_directly(*backend, call)));
    dispatched.push_back(measure(call_dispatched(dispatcher, chain, call)));
  }
  std::ranges::sort(direct);
  std::ranges::sort(dispatched);
  return {direct[kRepetitions / 2], dispatched[kRepetitions / 2]};
}

}  // namespace

int main() {
  const Measured plain = median_of(false);
  const Measured windows = median_of(true);
  const auto added = [](const Measured& measured) { return measured.dispatched - measured.direct; };
  bench::tell({"D4", "CPU that dispatch adds to a call, four windows told", added(windows), "µs",
               kGoal, false,
               fmt::format("the backend alone {:.2f} µs; without windows {:.2f} µs more",
                           windows.direct, added(plain))});
}
