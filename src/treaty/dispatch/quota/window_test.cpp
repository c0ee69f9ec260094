// What a window says about the next call, and how absurd values are read.
#include "treaty/dispatch/quota/window.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {
namespace {

using contracts::RateLimitWindow;

constexpr auto kLeastNumber = std::numeric_limits<std::int64_t>::min();
constexpr auto kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr Seconds kFortyDays = 40 * 86'400.0;

RateLimitWindow told(Number remaining, Number limit, Number resets_in,
                     std::string name = "requests") {
  return {.name = std::move(name),
          .resource = "requests",
          .remaining = remaining,
          .limit = limit,
          .resets_in = resets_in};
}

Window made(const RateLimitWindow& window, Moment now = 0) {
  const auto made = Window::make(window, now);
  REQUIRE(made);
  return *made;
}

// A bucket of 100 that refills in 50 seconds, as its provider tells it while it is used.
Window bucket() {
  Window window = made(told(90, 100, 5), 0);
  window.tell(made(told(60, 100, 20), 1));
  window.tell(made(told(30, 100, 35), 2));
  window.tell(made(told(0, 100, 50), 3));
  return window;
}

// --- What is told

TEST_CASE("A window without what remains cannot be kept") {
  RateLimitWindow silent = told(1, 60, 10);
  silent.remaining.reset();

  CHECK(!Window::make(silent, 0));
}

TEST_CASE("A limit below what remains, or of nothing, is no limit") {
  CHECK(!made(told(100, 60, 10)).limit);
  CHECK(!made(told(0, 0, 10)).limit);
  CHECK(!made(told(0, -60, 10)).limit);
  CHECK(made(told(60, 60, 10)).limit == 60.0);
}

TEST_CASE("Less than nothing remains: nothing does") {
  CHECK(made(told(-1, 60, 10)).remaining == 0);
  CHECK(made(told(kLeastNumber, 60, 10)).remaining == 0);
}

TEST_CASE("A reset in the past is now, and one beyond forty days is in forty") {
  CHECK(made(told(0, 60, -5), 100).resets == 100);
  CHECK(made(told(0, 60, kLeastNumber), 100).resets == 100);
  CHECK(made(told(0, 60, kMostNumber), 100).resets == 100 + kFortyDays);
  CHECK(made(told(0, 60, 83 * 3'600), 100).resets == 100 + 83 * 3'600);
}

TEST_CASE("Without a reset it is as long as the name says, else a minute") {
  RateLimitWindow named = told(0, 60, 0, "requests_per_hour");
  named.resets_in.reset();
  CHECK(made(named, 5).resets == 3'605);

  RateLimitWindow plain = told(0, 60, 0);
  plain.resets_in.reset();
  CHECK(made(plain, 5).resets == 65);
}

TEST_CASE("A window is as long as its name says, else as the longest reset it has told") {
  CHECK(made(told(0, 60, 7, "requests_per_minute")).length == 60);

  Window plain = made(told(0, 60, 7));
  CHECK(plain.length == 7);
  plain.tell(made(told(0, 60, 40), 1));
  CHECK(plain.length == 40);
  plain.tell(made(told(0, 60, 37), 2));
  CHECK(plain.length == 40);
}

TEST_CASE("A reset that is taken back makes a window without a name as short as it is") {
  Window plain = made(told(5, 60, 300'000));
  CHECK(span_of(plain.reach(0)) == Span::day);

  plain.tell(made(told(0, 60, 2), 10));

  CHECK(plain.length == 2);
  CHECK(span_of(plain.reach(10)) == Span::minute);
}

TEST_CASE("What is told later replaces what was told before") {
  Window window = made(told(5, 60, 30), 10);
  window.tell(made(told(59, 120, 20), 40));

  CHECK(window.remaining == 59);
  CHECK(window.limit == 120.0);
  CHECK(window.seen == 40);
  CHECK(window.resets == 60);
}

// --- What a call takes

TEST_CASE("A call takes one request, and its tokens by their kind") {
  const Cost cost{.requests = 1, .input_tokens = 70, .output_tokens = 30};
  const auto share = [&](std::string resource) {
    Window window;
    window.resource = std::move(resource);
    return window.share_of(cost);
  };

  CHECK(share("requests") == 1);
  CHECK(share("tokens") == 100);
  CHECK(share("input_tokens") == 70);
  CHECK(share("output_tokens") == 30);
  CHECK(share("input_images") == 0);
}

TEST_CASE("Costs are added, and taken away down to nothing") {
  Cost cost{1, 10, 5};
  cost += {2, 1, 1};
  CHECK(cost.requests == 3);
  CHECK(cost.input_tokens == 11);

  cost -= {5, 1, 100};
  CHECK(cost.requests == 0);
  CHECK(cost.input_tokens == 10);
  CHECK(cost.output_tokens == 0);
}

// --- When a call may go

TEST_CASE("A window with something left lets a call go now; without, when it resets") {
  const Window window = made(told(1, 60, 30), 100);

  CHECK(window.free_at(0, 1, 100) == 100);
  CHECK(window.free_at(1, 1, 100) >= 130);
}

TEST_CASE("Calls that were sent since count") {
  Window window = made(told(3, 60, 30), 100);
  window.used = 3;

  CHECK(window.level(100) == 0);
  CHECK(window.free_at(0, 1, 100) == 130);
}

TEST_CASE("Whoever waits behind many others waits for as much of the next windows, too") {
  const Window window = made(told(0, 60, 30, "requests_per_minute"), 0);

  CHECK(window.free_at(0, 1, 0) == 30);
  CHECK(window.free_at(60, 1, 0) == 90);
  CHECK(window.free_at(120, 1, 0) == 150);
}

TEST_CASE("A call that is larger than the whole limit waits for a full window, not for ever") {
  RateLimitWindow tokens = told(100, 100, 30, "tokens_per_minute");
  tokens.resource = "tokens";

  CHECK(made(tokens).free_at(0, 5'000, 0) == 0);
  tokens.remaining = 99;
  CHECK(made(tokens).free_at(0, 5'000, 0) == 30);
}

TEST_CASE("The rest of an hour or a day is used up to the last token, whatever a call may need") {
  RateLimitWindow tokens = told(10, 1'000, 3'000, "tokens_per_hour");
  tokens.resource = "tokens";

  CHECK(made(tokens).free_at(0, 500, 0) == 0);
  tokens.remaining = 0;
  CHECK(made(tokens).free_at(0, 500, 0) == 3'000);
}

TEST_CASE("A window of what a call does not take keeps it only when there is nothing left") {
  RateLimitWindow images = told(1, 10, 30, "input_images");
  images.resource = "input_images";
  CHECK(made(images).free_at(0, 0, 0) == 0);

  images.remaining = 0;
  CHECK(made(images).free_at(0, 0, 0) == 30);
}

// --- What refills, and what ends at once

TEST_CASE("Where what is gone and the time to full go together, it refills bit by bit") {
  const Window window = bucket();

  CHECK(window.refills);
  CHECK(window.rate == doctest::Approx(2));
  CHECK(window.level(13) == doctest::Approx(20));
  CHECK(window.level(1'000) == 100);
  CHECK(window.free_at(0, 1, 3) == doctest::Approx(3.5));
  CHECK(window.free_at(9, 1, 3) == doctest::Approx(8));
}

TEST_CASE("A window that comes closer to its end whatever is gone ends at once") {
  Window window = made(told(90, 100, 60), 0);
  window.tell(made(told(60, 100, 55), 5));
  window.tell(made(told(30, 100, 50), 10));
  window.tell(made(told(10, 100, 45), 15));
  window.tell(made(told(0, 100, 40), 20));

  CHECK(!window.refills);
  CHECK(window.level(59) == 0);
  CHECK(window.free_at(0, 1, 20) == 60);
}

TEST_CASE("Two answers are too few to believe that a window refills") {
  Window window = made(told(60, 100, 20), 0);
  window.tell(made(told(30, 100, 35), 1));

  CHECK(!window.refills);
}

TEST_CASE("A bucket that turns out to end at once is believed after some answers") {
  Window window = bucket();
  for (int i = 0; i < 8; ++i) {
    const int passed = 5 * i;
    window.tell(made(told(80 - 11 * i, 100, 55 - passed), 100 + passed));
  }

  CHECK(!window.refills);
}

// --- Spreading and beginning anew

TEST_CASE(
    "Calls that waited are spread over a minute's window, not over longer or refilling ones") {
  CHECK(made(told(0, 60, 30, "requests_per_minute")).gap(1) == 1);
  CHECK(made(told(0, 60, 30, "requests_per_minute")).gap(90) == 60);
  CHECK(made(told(0, 60, 30, "requests_per_hour")).gap(1) == 0);
  CHECK(made(told(100, 60, 30, "requests_per_minute")).gap(1) == 0);
  CHECK(bucket().gap(1) == 0);
}

TEST_CASE("A window whose reset has passed is full again until the next") {
  Window window = made(told(0, 60, 30, "requests_per_minute"), 0);
  CHECK(!window.has_passed(29.9));
  REQUIRE(window.has_passed(30));

  window.begin_anew(31);

  CHECK(window.remaining == 60);
  CHECK(window.seen == 30);
  CHECK(window.resets == 90);
}

TEST_CASE("After a long silence the windows in between are passed over") {
  Window window = made(told(0, 60, 30, "requests_per_minute"), 0);

  window.begin_anew(1'000);

  CHECK(window.seen == 990);
  CHECK(window.resets == 1'050);
}

TEST_CASE("What refills is not full at its reset when much was taken meanwhile") {
  Window window = bucket();  // Empty at 3, full at 53.
  window.used = 90;

  window.begin_anew(54);

  CHECK(window.level(54) == doctest::Approx(12));
  CHECK(window.resets == doctest::Approx(98));
}

TEST_CASE("Nothing flows into a full bucket: after a silence it holds its limit, not more") {
  Window window = bucket();
  window.begin_anew(100);
  REQUIRE(window.has_passed(150));
  window.begin_anew(150);

  window.used = 100;

  CHECK(window.level(150) == 0);
}

TEST_CASE("Nobody owes more than a whole window, whatever an answer says that it has used") {
  Window window = bucket();
  window.used = 1e18;

  CHECK(window.level(3) == -100);
  CHECK(window.free_at(0, 1, 3) == doctest::Approx(53.5));
}

// --- Whatever is told

Number any_window_number() {
  return *rc::gen::element<Number>(kLeastNumber, -1, 0, 0.5, 1, 59, 60, 61, 3'600, 298'800,
                                   kMostNumber);
}

TEST_CASE("Whatever is told, and in whatever order, the next call goes within bounds") {
  CHECK(rc::check([] {
    Moment now = 1'000;
    std::optional<Window> window;
    const int answers = *rc::gen::inRange(1, 8);
    for (int i = 0; i < answers; ++i) {
      now += *rc::gen::element(0.0, 0.001, 1.0, 60.0, 1e6);
      const auto newer = Window::make(
          told(any_window_number(), any_window_number(), any_window_number(),
               *rc::gen::element<std::string>("requests", "requests_per_minute", "x_per_month")),
          now);
      RC_ASSERT(newer.has_value());
      if (window) {
        window->tell(*newer);
      } else {
        window = newer;
      }
      const Moment later = now + *rc::gen::element(0.0, 1.0, 1e7);
      RC_ASSERT(window->resets >= now);
      RC_ASSERT(window->length >= 1);
      RC_ASSERT(window->length <= kFortyDays);
      RC_ASSERT(std::isfinite(window->level(later)));
      if (window->limit) RC_ASSERT(window->level(later) <= *window->limit);
      const Moment free = window->free_at(0, 1, now);
      RC_ASSERT(free >= now);
      RC_ASSERT(free <= now + kFortyDays);
      RC_ASSERT(window->free_at(5, 1, now) >= free);
      RC_ASSERT(std::isfinite(window->free_at(1e9, 1e9, now)));
      if (!window->has_passed(later)) continue;
      Window anew = *window;
      anew.begin_anew(later);
      RC_ASSERT(!anew.has_passed(later));
      RC_ASSERT(anew.seen <= later);
    }
  }));
}

}  // namespace
}  // namespace treaty::dispatch
