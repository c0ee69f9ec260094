#include "treaty/cli/limits/limits_drawing.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <array>

#include "treaty/base/text.h"

namespace treaty::cli::limits_watch {
namespace {

using Lines = std::vector<std::string>;

LimitsView view() {
  return {.pools = {{.provider = "openai",
                     .model = "small",
                     .windows = {{"requests_per_minute", 60, 45, 12.2, false},
                                 {"tokens_per_minute", 40'000, 1'200.9, 65, true}},
                     .breaker = "closed"}}};
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(read_code_point(text).length);
  return count;
}

TEST_CASE("A window is a bar, what is left of what, and the time to its reset") {
  CHECK(draw_limits(view(), 0, {.width = 80}) ==
        Lines{"openai · small  free · 0 waiting · 0 running",
              "  requests_per_minute  █████████████████░░░░░░         45 / 60  resets in 13 s",
              "  tokens_per_minute    █░░░░░░░░░░░░░░░░░░░░░░  1,200 / 40,000  full in 1 m 05 s"});
}

TEST_CASE("What counts down goes on between two answers, and stops at nothing") {
  CHECK(draw_limits(view(), 3, {.width = 80})[1].ends_with("resets in 10 s"));
  CHECK(draw_limits(view(), 500, {.width = 80})[1].ends_with("resets in 0 s"));
}

TEST_CASE("A bar is full, empty, or shows that something is left or gone") {
  const auto bar = [](std::optional<double> limit, double remaining) {
    const LimitsView one{.pools = {{.windows = {{"w", limit, remaining, 0, false}}}}};
    const std::string line = draw_limits(one, 0, {.width = 60})[1];
    const std::size_t full = line.find("█");
    const std::size_t rest = line.find("░");
    return fmt::format("{}{}", full == std::string::npos ? "" : "full",
                       rest == std::string::npos ? "" : "rest");
  };

  CHECK(bar(100, 100) == "full");
  CHECK(bar(100, 250) == "full");
  CHECK(bar(100, 0) == "rest");
  CHECK(bar(0, 0) == "rest");
  CHECK(bar(1e6, 1) == "fullrest");
  CHECK(bar(1e6, 999'999) == "fullrest");
  CHECK(bar(std::nullopt, 5).empty());
}

TEST_CASE("A level has its colour, and there are none where none are wanted") {
  LimitsView one = view();
  const auto line = [&](double remaining) {
    one.pools[0].windows[0].remaining = remaining;
    return draw_limits(one, 0, {.width = 80, .has_colors = true})[1];
  };

  CHECK(line(60).contains("\x1b[32m█"));
  CHECK(line(20).contains("\x1b[33m█"));
  CHECK(line(5).contains("\x1b[31m█"));
  for (const std::string& plain : draw_limits(one, 0, {})) CHECK(!plain.contains('\x1b'));
}

TEST_CASE("A pool that is not free says why and for how long") {
  LimitsView one = view();
  LimitsView::Pool& pool = one.pools[0];
  pool.waiting = 3;
  pool.obstacle = "window";
  pool.next_free_in = 12;
  const auto title = [&] { return draw_limits(one, 2, {.width = 100})[0]; };

  CHECK(title() == "openai · small  free in 10 s (window) · 3 waiting · 0 running");

  pool.breaker = "open";
  pool.probe_in = 30;
  pool.failures = 5;
  CHECK(title() ==
        "openai · small  breaker open, probe in 28 s · 3 waiting · 0 running · 5 failed in a row");

  pool.breaker = "probing";
  CHECK(title().contains("breaker probing"));
}

TEST_CASE("A pool shows its newest decision with its age and its rule") {
  LimitsView one = view();
  one.pools[0].decision = {
      .act = "switch", .rule = "max_attempts", .reason = "server_error twice", .ago = 70};

  CHECK(draw_limits(one, 5, {.width = 80}).back() ==
        "  1 m 15 s ago: switch, server_error twice (rule max_attempts)");
  CHECK(draw_limits(one, 5, {.width = 20}).back() == "  1 m 15 s ago: swi…");
}

TEST_CASE("A budget shows what it leaves of the day, in tokens and in dollars") {
  const LimitsView one{.pools = {{.provider = "p", .model = "m"}},
                       .budgets = {{.scope = "agent",
                                    .name = "default",
                                    .tokens = {100'000, 1'200, 300},
                                    .dollars = {2.5, 0.015, 0},
                                    .resets_in = 43'200}}};

  const Lines lines = draw_limits(one, 0, {.has_bars = false});

  CHECK(lines == Lines{"p · m  free · 0 waiting · 0 running", "  no rate limits reported",
                       "budget of agent default  resets in 12 h 00 m",
                       "  tokens    98,500 / 100,000  1,200 spent, 300 reserved",
                       "  dollars  $2.4850 / $2.5000  $0.0150 spent, $0.0000 reserved"});
}

TEST_CASE("A table has neither bars nor colours, and no line of it is cut") {
  LimitsView one = view();
  one.pools[0].windows[0].name = std::string(200, 'w');

  const Lines lines = draw_limits(one, 0, {.width = 10, .has_bars = false});

  CHECK(lines[1] ==
        fmt::format("  {}         45 / 60  resets in 13 s", one.pools[0].windows[0].name));
}

TEST_CASE("Without pools there is a word about it") {
  CHECK(draw_limits({}, 0, {}) == Lines{"no pools yet: nothing was asked of a provider"});
}

TEST_CASE("More lines than fit are told by their number") {
  LimitsView one = view();
  one.pools.resize(10, one.pools[0]);

  const Lines lines = draw_limits(one, 0, {.height = 5});

  REQUIRE(lines.size() == 5);
  CHECK(lines[4] == "… and 26 more lines");
  CHECK(draw_limits(one, 0, {.height = 30}).size() == 30);
}

TEST_CASE("No line is wider than the terminal, whatever a server says") {
  CHECK(rc::check([](double limit, double remaining, double seconds) {
    const auto width = *rc::gen::inRange<std::size_t>(1, 200);
    const auto name = *rc::gen::container<std::string>(rc::gen::inRange(' ', '~'));
    LimitsView one = view();
    one.pools[0].provider = one.pools[0].windows[0].name = name;
    one.pools[0].windows[0].limit = std::abs(limit);
    one.pools[0].windows[0].remaining = std::abs(remaining);
    one.pools[0].windows[0].resets_in = seconds;
    for (const std::string& line : draw_limits(one, 0, {.width = width})) {
      RC_ASSERT(is_utf8(line));
      RC_ASSERT(code_points(line) <= width);
    }
  }));
}

TEST_CASE("Wide characters count twice when a name is cut") {
  CHECK(fitted("model", 5) == "model");
  CHECK(fitted("models", 5) == "mode…");
  CHECK(fitted("模型模型", 8) == "模型模型");
  CHECK(fitted("模型模型", 6) == "模型…");
  CHECK(fitted("e\xCC\x81tude", 5) == "e\xCC\x81tude");
  CHECK(fitted("x", 0).empty());
}

TEST_CASE("A countdown has two units at most") {
  CHECK(countdown_text(-5) == "0 s");
  CHECK(countdown_text(0.2) == "1 s");
  CHECK(countdown_text(59) == "59 s");
  CHECK(countdown_text(245) == "4 m 05 s");
  CHECK(countdown_text(11'520) == "3 h 12 m");
  CHECK(countdown_text(299'000) == "3 d 11 h");
  CHECK(countdown_text(1e300).ends_with(" h"));
}

TEST_CASE("The first frame is written where the cursor is, the next ones over it") {
  const std::array<std::string, 2> lines = {"one", "two"};

  CHECK(frame_text(lines, 0) == "\x1b[?7lone\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[?7h");
  CHECK(frame_text(lines, 3) == "\x1b[?7l\r\x1b[3Aone\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[?7h");
}

}  // namespace
}  // namespace treaty::cli::limits_watch
