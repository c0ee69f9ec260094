#include "treaty/results/compat_limits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/results/limits.h"

using namespace treaty;
using namespace treaty::results;

namespace {

std::string told(const Headers& headers) {
  std::string text;
  for (const auto& window : read_compat_limits(headers).windows) {
    const auto count = [](const auto& number) {
      return number ? fmt::format("{}", number->value()) : std::string("-");
    };
    text += fmt::format("{} {}/{} in {} at {};", window.name, count(window.remaining),
                        count(window.limit), count(window.resets_in), count(window.reset_at));
  }
  return text;
}

std::string reset_of(const char* text) {
  return told({{"x-ratelimit-remaining-requests", "1"}, {"x-ratelimit-reset-requests", text}});
}

std::optional<Number> retry_after(const char* text) {
  return read_compat_limits({{"retry-after", text}}).retry_after;
}

}  // namespace

TEST_CASE("compat: buckets reset in their length, whatever a reset header says") {
  CHECK(told({{"x-ratelimit-remaining-tokens-day", "3"},
              {"x-ratelimit-reset-tokens-day", "5"},
              {"x-ratelimit-limit-requests-minute", "1"},
              {"x-ratelimit-remaining-requests-hour", "2"}}) ==
        "requests_per_minute -/1 in 60 at -;requests_per_hour 2/- in 3600 at -;"
        "tokens_per_day 3/- in 86400 at -;");
}

TEST_CASE("compat: a plain window only where no bucket speaks of its resource") {
  CHECK(told({{"x-ratelimit-remaining-requests-day", "1"},
              {"x-ratelimit-remaining-requests", "2"},
              {"x-ratelimit-remaining-tokens", "3"}}) ==
        "requests_per_day 1/- in 86400 at -;tokens 3/- in - at -;");
}

TEST_CASE("compat: Anthropic's requests and tokens have a reset_at alone, and come anyway") {
  CHECK(told({{"x-ratelimit-remaining-requests", "2"},
              {"anthropic-ratelimit-requests-remaining", "1"},
              {"anthropic-ratelimit-requests-reset", "1970-01-01T00:01:00Z"},
              {"anthropic-ratelimit-tokens-limit", "5"},
              {"anthropic-ratelimit-tokens-reset", "1970-01-01"},
              {"anthropic-ratelimit-input-tokens-limit", "5"}}) ==
        "requests 2/- in - at -;requests 1/- in - at 60;tokens -/5 in - at -;");
}

TEST_CASE("compat: durations are collected from left to right") {
  for (const auto& [text, expected] : {std::pair{"6m30s", "390"},
                                       {"500ms", "1"},
                                       {"1m0.5s", "61"},
                                       {"45", "45"},
                                       {"-5s", "5"},
                                       {"5S", "5"},
                                       {"1us", "1"},
                                       {"2m3", "123"},
                                       {"1h1m1s1ms", "3662"},
                                       {"0s", "-"},
                                       {"", "-"},
                                       {"soon", "-"},
                                       {"1.2.3s", "-"},
                                       {".", "-"},
                                       {".s", "-"},
                                       {"5s1.2.3", "-"}}) {
    CAPTURE(text);
    CHECK(reset_of(text) == fmt::format("requests 1/- in {} at -;", expected));
  }
}

TEST_CASE("compat: integers may have a sign, white space around and underscores between digits") {
  const auto remaining = [](const char* text) {
    return told({{"x-ratelimit-remaining-requests", text}});
  };
  CHECK(remaining("+5") == "requests 5/- in - at -;");
  CHECK(remaining("-1") == "requests -1/- in - at -;");
  CHECK(remaining("1_000") == "requests 1000/- in - at -;");
  CHECK(read_compat_limits({{"x-ratelimit-limit-requests", "99999999999999999999"}})
            .windows[0]
            .limit->whole() == std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"_1", "1_", "1__0", "--1", "1.0", "", "-", "1 0"}) {
    CAPTURE(text);
    CHECK(remaining(text) == "");
  }
}

TEST_CASE("compat: only windows limit, and only an integer is a retry-after") {
  const Headers exhausted{{"x-ratelimit-remaining-requests", "0"}};
  CHECK(read_compat_limits(exhausted).limited);
  CHECK(!read_compat_limits(exhausted).retry_after);
  CHECK(!read_rate_limits({.headers = {}, .status = 429}, LimitsProfile::compat).limited);
  CHECK(retry_after("7") == Number(7));
  CHECK(!retry_after("7.5"));
  CHECK(!retry_after("Thu, 01 Jan 2026 00:01:00 GMT"));
  CHECK(read_compat_limits({{"retry-after", "7"}}, 2.5).retry_after == Number(2.5));
}

TEST_CASE("compat: other dialects make no window") {
  CHECK(told({{"ratelimit-remaining", "1"},
              {"x-ratelimit-remaining", "1"},
              {"x-ratelimit-remaining-req-minute", "1"},
              {"x-ratelimit-remaining-tokens-month", "1"},
              {"x-ratelimit-remaining-project-tokens", "1"}}) == "");
}
