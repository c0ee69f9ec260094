// What a pool keeps from one process to the next, on clocks that need not agree.
#include "treaty/dispatch/quota/quota_state.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "treaty/testing/generators.h"

namespace treaty::dispatch {
namespace {

constexpr double kUnix = 1'700'000'000;
constexpr Seconds kDay = 86'400;
constexpr Seconds kLongest = 40 * kDay;

Window minute(Moment now) {
  Window window;
  window.name = "requests_per_minute";
  window.resource = "requests";
  window.limit = 60;
  window.remaining = 12;
  window.seen = now - 5;
  window.resets = now + 25;
  window.length = 60;
  return window;
}

QuotaState state_at(Moment now) {
  QuotaState state{.windows = {minute(now)}, .blocked_until = now + 30};
  state.breaker.failures = 5;
  state.breaker.open_until = now + 20;
  state.estimate = {.tokens_per_byte = 0.4, .output_tokens = 70, .has_learnt = true};
  return state;
}

TEST_CASE("A state is read as it was written, on a clock that began anew") {
  const auto text = encode_state(state_at(1'000), 1'000, kUnix);

  const auto state = decode_state(text, 3, kUnix + 10);

  REQUIRE(state);
  CHECK(state->blocked_until == doctest::Approx(23));
  CHECK(state->breaker.failures == 5);
  CHECK(*state->breaker.open_until == doctest::Approx(13));
  CHECK(!state->breaker.is_probed);
  CHECK(state->estimate.tokens_per_byte == 0.4);
  CHECK(state->estimate.output_tokens == 70);
  CHECK(state->estimate.has_learnt);
  REQUIRE(state->windows.size() == 1);
  const Window& window = state->windows.front();
  CHECK(window.name == "requests_per_minute");
  CHECK(window.resource == "requests");
  CHECK(window.limit == 60.0);
  CHECK(window.remaining == 12);
  CHECK(window.seen == doctest::Approx(-12));
  CHECK(window.resets == doctest::Approx(18));
}

TEST_CASE("What was sent since a window was told is taken from it") {
  QuotaState state = state_at(1'000);
  state.windows.front().used = 5;
  CHECK(decode_state(encode_state(state, 1'000, kUnix), 0, kUnix)->windows.front().remaining == 7);

  state.windows.front().used = 50;
  CHECK(decode_state(encode_state(state, 1'000, kUnix), 0, kUnix)->windows.front().remaining == 0);
}

TEST_CASE("A window that refills is known to do so afterwards") {
  QuotaState state = state_at(1'000);
  state.windows.front().refills = true;
  state.windows.front().rate = 2;
  state.windows.front().votes = 3;

  const auto read = decode_state(encode_state(state, 1'000, kUnix), 0, kUnix);

  CHECK(read->windows.front().refills);
  CHECK(read->windows.front().rate == 2);
  CHECK(read->windows.front().votes == 3);
}

TEST_CASE("A pool that knows nothing is written and read as that") {
  const auto state = decode_state(encode_state({}, 5, kUnix), 5, kUnix);

  REQUIRE(state);
  CHECK(state->windows.empty());
  CHECK(state->blocked_until <= 5);
  CHECK(!state->breaker.open_until);
  CHECK(!state->estimate.has_learnt);
}

TEST_CASE("A block that is over is not written") {
  QuotaState state;
  state.blocked_until = 4;

  CHECK(encode_state(state, 5, kUnix).find("blocked_until") == std::string::npos);
}

TEST_CASE("A clock of the wall that was set back keeps nobody longer than what was said") {
  const auto text = encode_state(state_at(1'000), 1'000, kUnix);

  const auto state = decode_state(text, 50, kUnix - 10 * kDay);

  REQUIRE(state);
  CHECK(state->blocked_until <= 50 + 30.001);
  CHECK(*state->breaker.open_until <= 50 + 20.001);
  CHECK(state->windows.front().seen <= 50);
  CHECK(state->windows.front().resets <= 50 + 30.001);
}

TEST_CASE("A clock of the wall that was set forth lets what was said pass") {
  const auto text = encode_state(state_at(1'000), 1'000, kUnix);

  const auto state = decode_state(text, 50, kUnix + 400 * kDay);

  REQUIRE(state);
  CHECK(state->blocked_until <= 50);
  CHECK(*state->breaker.open_until <= 50);
  CHECK(state->windows.front().resets <= 50);
}

TEST_CASE("What is no state is none") {
  for (const char* text : {"", "null", "[]", "{}", "{\"version\":2}", "{\"version\":\"1\"}",
                           "{\"version\":1", "\xff", "1"}) {
    CAPTURE(text);
    CHECK(!decode_state(text, 0, kUnix));
  }
  CHECK(decode_state("{\"version\":1}", 0, kUnix));
}

TEST_CASE("What makes no sense in a state is left out or brought within bounds") {
  const auto state = decode_state(R"({"version":1,"failures":-3,"open_until":"soon",
      "blocked_until":1e300,"tokens_per_byte":-1,"windows":[
        {}, 7, {"name":"a","resource":"requests","seen":1700000000},
        {"name":"","resource":"requests","seen":1700000000,"resets":1700000010},
        {"name":"b","resource":"requests","limit":5,"remaining":9,"seen":1e300,"resets":1e301,
         "length":-1,"rate":1e-300,"votes":99,"refills":true}]})",
                                  100, kUnix);

  REQUIRE(state);
  CHECK(state->breaker.failures == 0);
  CHECK(!state->breaker.open_until);
  CHECK(state->blocked_until == 100 + 86'400);  // No longer than a day after a restart.
  CHECK(!state->estimate.has_learnt);
  REQUIRE(state->windows.size() == 1);
  const Window& window = state->windows.front();
  CHECK(window.name == "b");
  CHECK(!window.limit);
  CHECK(window.seen <= 100);
  CHECK(window.resets <= 100 + kLongest);
  CHECK(window.length == 1);
  CHECK(window.votes == 4);
  CHECK(!window.refills);
}

TEST_CASE("More windows than a pool keeps are not read") {
  QuotaState state;
  for (int i = 0; i < 100; ++i) {
    state.windows.push_back(minute(1'000));
    state.windows.back().name += std::to_string(i);
  }

  CHECK(decode_state(encode_state(state, 1'000, kUnix), 0, kUnix)->windows.size() == 32);
}

double any_moment(Moment now) {
  return now + *rc::gen::element(-1e9, -61.0, -0.5, 0.0, 0.5, 59.0, 3'600.0, 3e6, 1e9);
}

QuotaState any_state(Moment now) {
  QuotaState state{.blocked_until = any_moment(now)};
  state.breaker.failures = *rc::gen::inRange(0, 100);
  if (*rc::gen::arbitrary<bool>()) state.breaker.open_until = any_moment(now);
  const auto names = *rc::gen::container<std::vector<std::string>>(testing::any_text());
  for (const std::string& name : names) {
    Window window = minute(now);
    window.name = "w" + name;
    window.resource = name;
    window.seen = any_moment(now);
    window.resets = any_moment(now);
    window.remaining = *rc::gen::element(0.0, 0.5, 60.0, 1e18);
    window.rate = *rc::gen::element(0.0, 1e-300, 1.0, 1e12);
    window.refills = *rc::gen::arbitrary<bool>();
    state.windows.push_back(std::move(window));
  }
  return state;
}

TEST_CASE("Whatever state is kept, and however the wall's clock jumps, all times stay in bounds") {
  CHECK(rc::check([] {
    const std::string text = encode_state(any_state(1'000), 1'000, kUnix);
    const Moment now = *rc::gen::element(0.0, 1'000.0, 1e8);
    const double jump = *rc::gen::element(-1e9, -kDay, 0.0, 1.0, kDay, 1e9);

    const auto state = decode_state(text, now, kUnix + jump);

    RC_ASSERT(state.has_value());
    RC_ASSERT(state->blocked_until <= now + kLongest);
    RC_ASSERT(state->breaker.open_until.value_or(0) <= now + kLongest);
    Quota quota;
    quota.windows = state->windows;
    quota.blocked_until = state->blocked_until;
    quota.advance(now);
    const auto delay = quota.delay({0, 0, 0}, {1, 100, 10}, now);
    // Both sides of an || are looked at here.
    if (delay) RC_ASSERT(delay->wait > 0 && delay->wait <= kLongest);
    for (const Window& window : quota.windows) RC_ASSERT(!window.has_passed(now));
  }));
}

TEST_CASE("Whatever text is kept, reading it does no harm") {
  CHECK(rc::check([] {
    const auto state = decode_state(*testing::any_bytes(), 0, kUnix);
    if (state) RC_ASSERT(decode_state(encode_state(*state, 0, kUnix), 0, kUnix).has_value());
  }));
}

}  // namespace
}  // namespace treaty::dispatch
