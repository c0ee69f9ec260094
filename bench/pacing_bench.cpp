// 10,000 calls against providers with true limits, on a simulated clock: paced by dispatch, and by
// a client that learns of a limit by hitting it. Prints a table and draws bench/results/pacing.svg.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "bench/rows.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/simulation/limited_provider.h"
#include "treaty/testing/simulation/silence.h"

namespace {

namespace asio = boost::asio;
namespace dispatch = treaty::dispatch;
using dispatch::Seconds;
using treaty::testing::FakeClock;
using treaty::testing::LimitedProvider;
using treaty::testing::Silence;

constexpr int kCalls = 10'000;
constexpr int kCallers = 400;         // Each makes its calls one after the other.
constexpr double kMostRefused = 1;    // Per cent.
constexpr double kLeastUnpaced = 30;  // Per cent.
constexpr double kMostOver = 10;      // Per cent of the best possible time.

struct Scene {
  std::string name;
  LimitedProvider::Options provider;
};

std::vector<Scene> scenes() {
  return {
      {"600 requests a minute, refilled",
       {.limits = {{"requests", "requests", 600, 60, true}}, .latency = 1}},
      {"1 M tokens a minute, refilled",
       {.limits = {{"tokens", "tokens", 1'000'000, 60, true}}, .latency = 2}},
      {"both, tokens are scarcer",
       {.limits = {{"requests", "requests", 2'000, 60, true},
                   {"tokens", "tokens", 900'000, 60, true}},
        .latency = 2}},
      {"600 requests in a minute's window",
       {.limits = {{"requests_per_minute", "requests", 600, 60, false}}, .latency = 1}},
      {"slow answers, 300 requests a minute",
       {.limits = {{"requests", "requests", 300, 60, true}}, .latency = 12}},
  };
}

struct Outcome {
  int asked = 0;
  int refused = 0;
  Seconds took = 0;
  Seconds best = 0;
  std::vector<dispatch::Moment> taken_at{};

  double refused_part() const { return 100.0 * refused / std::max(asked, 1); }
  double over() const { return 100.0 * (took / best - 1); }
};

// Prompts of 1.6 to 4.8 KB: 500 to 1,500 tokens, and an answer of up to 400 more.
treaty::backends::Call prompt(int number) {
  const std::size_t bytes = 1'600 + static_cast<std::size_t>(number) * 2'654'435'761U % 3'200;
  treaty::backends::Call call{.model = "m"};
  call.messages.push_back(
      treaty::backends::UserMessage{{treaty::backends::TextPart{std::string(bytes, 'x')}}});
  return call;
}

using CallOnce =
    std::function<asio::awaitable<bool>(LimitedProvider&, FakeClock&, treaty::backends::Call)>;

// The whole of it, with a caller of one call.
Outcome run(const Scene& scene, const CallOnce& call_once) {
  asio::io_context loop(1);
  const auto clock = std::make_shared<FakeClock>(loop);
  const auto provider = std::make_shared<LimitedProvider>(clock, scene.provider);
  const dispatch::Moment began = clock->seconds();
  int served = 0;
  const auto caller = [&](int first) -> asio::awaitable<void> {
    for (int i = first; i < kCalls; i += kCallers) {
      if (co_await call_once(*provider, *clock, prompt(i))) ++served;
    }
  };
  for (int i = 0; i < kCallers; ++i) asio::co_spawn(loop, caller(i), asio::detached);
  clock->run();
  if (served != kCalls) {
    fmt::print(stderr, "{}: {} of {} calls were served\n", scene.name, served, kCalls);
    std::exit(1);
  }
  return {provider->asked, provider->refused, clock->seconds() - began, provider->best_possible(),
          provider->taken_at};
}

// Tries again after a second, as simple clients do.
Outcome run_unpaced(const Scene& scene) {
  Silence silence;
  return run(scene,
             [&](LimitedProvider& provider, FakeClock& clock,
                 treaty::backends::Call call) -> asio::awaitable<bool> {
               while (true) {
                 const auto result = co_await provider.run(call, silence);
                 if (!result.error) co_return true;
                 co_await clock.sleep(1);
               }
             });
}

Outcome run_paced(const Scene& scene) {
  Silence silence;
  std::unique_ptr<dispatch::Dispatcher> dispatcher;
  const std::vector<dispatch::Choice> chain = {
      {.backend = "p", .model = "m", .policy = {.max_wait = 1'000, .max_attempts = 100}}};
  return run(scene,
             [&](LimitedProvider& provider, FakeClock& clock,
                 treaty::backends::Call call) -> asio::awaitable<bool> {
               if (!dispatcher) {
                 const auto shared = [](auto& one) {  // Both outlive the dispatcher's use.
                   return std::shared_ptr<std::remove_reference_t<decltype(one)>>(
                       std::shared_ptr<void>(), &one);
                 };
                 dispatcher = std::make_unique<dispatch::Dispatcher>(
                     dispatch::BackendSources{{"p",
                                               {.backend = shared(provider),
                                                .pool_of =
                                                    [](const std::string& model) {
                                                      return dispatch::PoolName{.key = "p",
                                                                                .provider = "p",
                                                                                .model = model};
                                                    }}}},
                     dispatch::Dispatcher::Services{
                         .pools = std::make_shared<dispatch::Pools>(shared(clock)), .seed = 1});
               }
               const auto ended =
                   co_await dispatcher->run({.chain = chain, .deadline = clock.seconds() + 10'000},
                                            std::move(call), silence, silence);
               co_return !ended.result.error;
             });
}

// --- The picture

constexpr int kPanelWidth = 300;
constexpr int kPanelHeight = 190;

std::string line_of(const Outcome& outcome, Seconds longest, int x, int y, const char* colour) {
  std::string points = fmt::format("{},{}", x, y + kPanelHeight);
  constexpr std::size_t kPoints = 100;
  std::vector<double> at = outcome.taken_at;
  std::ranges::sort(at);
  const double begin = 1'000;  // Where the simulated clock begins.
  for (std::size_t i = 0; i <= kPoints; ++i) {
    const std::size_t index = std::min(i * at.size() / kPoints, at.size() - 1);
    points += fmt::format(" {:.1f},{:.1f}", x + (at[index] - begin) / longest * kPanelWidth,
                          y + kPanelHeight - static_cast<double>(index) / kCalls * kPanelHeight);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     points, colour);
}

// How many calls were made for the 10,000 answers, the refused ones in red.
std::string bar_of(const Outcome& outcome, int most, int x, int y) {
  const auto width = [&](int calls) { return static_cast<double>(calls) / most * kPanelWidth; };
  const double served = width(outcome.asked - outcome.refused);
  return fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"9\" fill=\"#3a7d44\"/>\n"
      "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"9\" fill=\"#c0504d\"/>\n",
      x, y, served, x + served, y, width(outcome.refused));
}

struct Compared {
  Scene scene;
  Outcome unpaced;
  Outcome paced;
};

void draw(const std::vector<Compared>& all) {
  const std::string path = std::string(TREATY_SOURCE_DIR) + "/bench/results/pacing.svg";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  const int width = 3 * (kPanelWidth + 40) + 20;
  const int height = static_cast<int>((all.size() + 2) / 3) * (kPanelHeight + 140) + 60;
  fmt::print(file,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{}\" height=\"{}\" "
             "fill=\"white\"/>\n<text x=\"20\" y=\"26\" font-size=\"15\">10,000 calls through true "
             "limits: answered over time, and how many were refused on the way</text>\n",
             width, height, width, height);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [scene, unpaced, paced] = all[i];
    const int x = 20 + static_cast<int>(i % 3) * (kPanelWidth + 40);
    const int y = 70 + static_cast<int>(i / 3) * (kPanelHeight + 140);
    const Seconds longest = std::max({unpaced.took, paced.took, paced.best});
    fmt::print(file,
               "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n<rect x=\"{}\" y=\"{}\" "
               "width=\"{}\" height=\"{}\" fill=\"#f6f6f6\"/>\n",
               x, y - 10, scene.name, x, y, kPanelWidth, kPanelHeight);
    fmt::print(file, "{}{}", line_of(unpaced, longest, x, y, "#c0504d"),
               line_of(paced, longest, x, y, "#3a7d44"));
    const double best = x + paced.best / longest * kPanelWidth;
    fmt::print(file,
               "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#555\" "
               "stroke-dasharray=\"4 3\"/>\n",
               best, y, best, y + kPanelHeight);
    const int most = std::max(unpaced.asked, paced.asked);
    fmt::print(file, "<text x=\"{}\" y=\"{}\">calls made: {} paced, {} unpaced</text>\n{}{}", x,
               y + kPanelHeight + 72, paced.asked, unpaced.asked,
               bar_of(paced, most, x, y + kPanelHeight + 80),
               bar_of(unpaced, most, x, y + kPanelHeight + 92));
    fmt::print(
        file,
        "<text x=\"{}\" y=\"{}\" fill=\"#3a7d44\">paced: {:.2f} % refused, {:.0f} s (+{:.1f} "
        "%)</text>\n<text x=\"{}\" y=\"{}\" fill=\"#c0504d\">unpaced: {:.0f} % refused, "
        "{:.0f} s</text>\n<text x=\"{}\" y=\"{}\" fill=\"#555\">dashed: the best possible, "
        "{:.0f} s</text>\n",
        x, y + kPanelHeight + 18, paced.refused_part(), paced.took, paced.over(), x,
        y + kPanelHeight + 34, unpaced.refused_part(), unpaced.took, x, y + kPanelHeight + 50,
        paced.best);
  }
  fmt::print(file, "</svg>\n");
  std::fclose(file);
  fmt::print("plot: bench/results/pacing.svg\n");
}

}  // namespace

int main() {
  fmt::print("{:<38} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}\n", "", "unpaced 429", "paced 429",
             "unpaced s", "paced s", "best s", "over");
  std::vector<Compared> all;
  for (const Scene& scene : scenes()) {
    Compared one{scene, run_unpaced(scene), run_paced(scene)};
    fmt::print("{:<38} {:>9.1f} % {:>9.2f} % {:>10.0f} {:>10.0f} {:>10.0f} {:>6.1f} %\n",
               scene.name, one.unpaced.refused_part(), one.paced.refused_part(), one.unpaced.took,
               one.paced.took, one.paced.best, one.paced.over());
    all.push_back(std::move(one));
  }
  const auto most = [&](auto part) { return std::ranges::max(all | std::views::transform(part)); };
  const double unpaced = std::ranges::min(
      all | std::views::transform([](const Compared& one) { return one.unpaced.refused_part(); }));
  bench::tell({"D1", "calls answered 429, paced, the worst scene",
               most([](const Compared& one) { return one.paced.refused_part(); }), "%",
               kMostRefused, false, fmt::format("unpaced, the best scene: {:.0f} %", unpaced)});
  bench::tell(
      {"D2", "calls answered 429, unpaced, the best scene", unpaced, "%", kLeastUnpaced, true});
  bench::tell({"D3", "time beyond the best possible, the worst scene",
               most([](const Compared& one) { return one.paced.over(); }), "%", kMostOver});
  draw(all);
}
