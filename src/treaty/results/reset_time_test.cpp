#include "treaty/results/reset_time.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <limits>

using namespace treaty::results;

namespace {

constexpr std::int64_t kSecond = Duration::kNanoseconds;

// In nanoseconds; -1 when it cannot be read.
std::int64_t nanoseconds(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration ? duration->seconds * kSecond + duration->nanoseconds : -1;
}

double point(std::string_view text) {
  const auto reset = parse_reset_time(text);
  return reset && reset->at && !reset->after ? *reset->at : -1;
}

}  // namespace

TEST_CASE("every unit of a duration has its length") {
  CHECK(nanoseconds("1d") == 86'400 * kSecond);
  CHECK(nanoseconds("1h") == 3'600 * kSecond);
  CHECK(nanoseconds("1m") == 60 * kSecond);
  CHECK(nanoseconds("1s") == kSecond);
  CHECK(nanoseconds("1ms") == 1'000'000);
  CHECK(nanoseconds("1us") == 1'000);
  CHECK(nanoseconds("1ns") == 1);
}

TEST_CASE("a microsecond may be written with the micro sign or with the Greek letter") {
  CHECK(nanoseconds("3\u00b5s") == 3'000);
  CHECK(nanoseconds("3\u03bcs") == 3'000);
}

TEST_CASE("m is minutes and ms is milliseconds, also beside each other") {
  CHECK(nanoseconds("6m") == 360 * kSecond);
  CHECK(nanoseconds("6ms") == 6'000'000);
  CHECK(nanoseconds("1m1ms") == 60 * kSecond + 1'000'000);
  CHECK(nanoseconds("1ms1m") == 60 * kSecond + 1'000'000);
}

TEST_CASE("a duration is the sum of its terms, hours beyond a day included") {
  CHECK(nanoseconds("7m12s") == 432 * kSecond);
  CHECK(nanoseconds("1h8m25.745s") == 4'105 * kSecond + 745'000'000);
  CHECK(parse_duration("83h10m39.057s")->rounded_up() == 83 * 3'600 + 10 * 60 + 40);
  CHECK(nanoseconds("1d1h1m1s1ms1us1ns") == 90'061 * kSecond + 1'001'001);
}

TEST_CASE("fractions are exact to the nanosecond, and what is below is rounded up") {
  CHECK(nanoseconds("10.332999999s") == 10'332'999'999);
  CHECK(nanoseconds("33.428571ms") == 33'428'571);
  CHECK(nanoseconds(".5s") == 500'000'000);
  CHECK(nanoseconds("0.5ns") == 1);
  CHECK(nanoseconds("1.0000000001s") == kSecond + 1);
  CHECK(nanoseconds("1.0000000000s") == kSecond);
  CHECK(nanoseconds("29.819103479385376") == 29'819'103'480);
}

TEST_CASE("a bare number is seconds") {
  CHECK(nanoseconds("0") == 0);
  CHECK(nanoseconds(" 35 ") == 35 * kSecond);
  CHECK(nanoseconds("51629.5") == 51'629 * kSecond + 500'000'000);
}

TEST_CASE("whole seconds are rounded up") {
  CHECK(parse_duration("0s")->rounded_up() == 0);
  CHECK(parse_duration("1ns")->rounded_up() == 1);
  CHECK(parse_duration("6ms")->rounded_up() == 1);
  CHECK(parse_duration("1s")->rounded_up() == 1);
  CHECK(parse_duration("59.999s")->rounded_up() == 60);
}

TEST_CASE("what is no duration is not read") {
  for (const char* text :
       {"",    " ",   "s",      ".",    ".s",           "-5",    "-5s",  "+5s",
        "5 s", "5S",  "1.2.3s", "5x",   "1s2",          "soon",  "1e3",  "5.",
        "5.s", "NaN", "inf",    "0x10", "**REDACTED**", "1m 2s", "\xff", "5\xc2"}) {
    CAPTURE(text);
    CHECK(!parse_duration(text));
    CHECK(!parse_reset_time(text));
  }
}

TEST_CASE("a number above 10^9 is epoch seconds, above 10^12 epoch milliseconds") {
  CHECK(parse_reset_time("1000000000")->after == Duration{.seconds = 1'000'000'000});
  CHECK(point("1000000001") == 1'000'000'001.0);
  CHECK(point("1754667660") == 1'754'667'660.0);
  CHECK(point("1754667660.5") == 1'754'667'660.5);
  CHECK(point("1000000000000") == 1'000'000'000'000.0);
  CHECK(point("1754667660000") == 1'754'667'660.0);
  CHECK(point("1754667660250") == 1'754'667'660.25);
}

TEST_CASE("a number with a unit is a duration, however large") {
  CHECK(parse_reset_time("2000000000s")->after == Duration{.seconds = 2'000'000'000});
  CHECK(parse_reset_time("2000000000ms")->after == Duration{.seconds = 2'000'000});
}

TEST_CASE("RFC 3339 is a point in time, and Z is UTC") {
  CHECK(point("2026-01-01T00:01:00Z") == 1'767'225'660.0);
  CHECK(point("2026-01-01T00:01:00z") == 1'767'225'660.0);
  CHECK(point("2026-01-01T02:01:00+02:00") == 1'767'225'660.0);
  CHECK(point("2026-01-01T00:01:00.5Z") == doctest::Approx(1'767'225'660.5));
  CHECK(!parse_reset_time("2026-01-01"));
  CHECK(!parse_reset_time("2026-02-30T00:00:00Z"));
}

TEST_CASE("an HTTP date is a point in time in each of its three forms") {
  CHECK(point("Thu, 01 Jan 2026 00:01:00 GMT") == 1'767'225'660.0);
  CHECK(point("Thursday, 01-Jan-26 00:01:00 GMT") == 1'767'225'660.0);
  CHECK(point("Thu Jan  1 00:01:00 2026") == 1'767'225'660.0);
  CHECK(!parse_reset_time("Thu, 01 Jan 2026 00:01:00 CET"));
  CHECK(!parse_reset_time("Thu, 32 Jan 2026 00:01:00 GMT"));
}

TEST_CASE("absurd numbers end at the longest duration") {
  CHECK(parse_duration("99999999999999999999999999d") == Duration{.seconds = Duration::kLongest});
  CHECK(parse_duration(std::string(5'000, '9') + "h") == Duration{.seconds = Duration::kLongest});
  const auto epoch = parse_reset_time(std::string(5'000, '9'));
  REQUIRE(epoch);
  CHECK(epoch->at.value() <= 1e13);
}

TEST_CASE("a duration of very many terms is not read, and none overflows") {
  std::string text;
  for (int i = 0; i < 64; ++i) text += "9999999999999999d";
  CHECK(parse_duration(text) == Duration{.seconds = Duration::kLongest});
  CHECK(!parse_duration(text + "1s"));
}

TEST_CASE("a leading duration ends where the text goes on") {
  CHECK(leading_duration("6.596s. Visit us.")->value() == doctest::Approx(6.596));
  CHECK(leading_duration("174ms.")->value() == doctest::Approx(0.174));
  CHECK(leading_duration("1m26.4s, please")->value() == doctest::Approx(86.4));
  CHECK(leading_duration("48.939935699s.")->value() == doctest::Approx(48.939935699));
  CHECK(leading_duration("5.")->value() == 5);
  CHECK(!leading_duration("a moment"));
  CHECK(!leading_duration(""));
}

TEST_CASE("a leading duration may have its unit as a word") {
  CHECK(leading_duration("20 seconds")->value() == 20);
  CHECK(leading_duration("2 minutes.")->value() == 120);
  CHECK(leading_duration("1 hour")->value() == 3'600);
  CHECK(leading_duration("3 days")->value() == 259'200);
  CHECK(leading_duration("500 milliseconds")->value() == 0.5);
  CHECK(leading_duration("7 bananas")->value() == 7);
}

TEST_CASE("a whole number of any unit reads back as itself") {
  CHECK(rc::check([] {
    const auto count = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    const auto [unit, length] = *rc::gen::element<std::pair<const char*, std::int64_t>>(
        std::pair{"ns", 1}, std::pair{"us", 1'000}, std::pair{"ms", 1'000'000},
        std::pair{"s", kSecond});

    RC_ASSERT(nanoseconds(fmt::format("{}{}", count, unit)) == count * length);
  }));
}

TEST_CASE("whatever the text, a reset is neither negative nor endless") {
  CHECK(rc::check([] {
    std::string text;
    for (const auto& part : *rc::gen::container<std::vector<std::string>>(
             rc::gen::element<std::string>("1", "9", "0", ".", "999999999", "d", "h", "m", "s",
                                           "ms", "ns", "\u00b5s", "-", " ", "T", "Z", ":", "x"))) {
      text += part;
    }
    if (const auto reset = parse_reset_time(text); reset && reset->after) {
      RC_ASSERT(reset->after->rounded_up() >= 0);
      RC_ASSERT(reset->after->rounded_up() <= Duration::kLongest);
      RC_ASSERT(reset->after->nanoseconds < kSecond);
    }
  }));
}
