#include "treaty/results/limits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <limits>

#include "treaty/contracts/decode_agent_result.h"

using namespace treaty;
using namespace treaty::results;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

namespace {

constexpr double kNow = 1'767'225'600;  // 2026-01-01T00:00:00Z
constexpr const char* kDate = "Thu, 01 Jan 2026 00:00:00 GMT";

// `name/resource remaining/limit in N at N`; a dash where there is nothing.
std::string told(const RateLimitWindow& window) {
  const auto number = [](const std::optional<Number>& value) -> std::string {
    if (!value) return "-";
    return value->is_whole() ? std::to_string(value->whole()) : fmt::format("{}", value->value());
  };
  return fmt::format("{}/{} {}/{} in {} at {}", window.name, window.resource,
                     number(window.remaining), number(window.limit), number(window.resets_in),
                     number(window.reset_at));
}

std::string told(const std::vector<RateLimitWindow>& windows) {
  std::string text;
  for (const RateLimitWindow& window : windows) text += told(window) + "\n";
  return text;
}

std::string names(const RateLimitState& state) {
  std::string text;
  for (const RateLimitWindow& window : state.windows) text += window.name + " ";
  return text;
}

std::string windows_of(const Headers& headers) {
  return told(read_rate_limits({.headers = headers}).windows);
}

RateLimitState state_of(const Headers& headers, std::optional<int> status = {},
                        std::string_view body = {}) {
  return read_rate_limits({.headers = headers, .status = status, .body = body});
}

double retry_after(const RateLimitState& state) {
  return state.retry_after ? state.retry_after->value() : -1;
}

}  // namespace

TEST_CASE("bucketed headers name their window, and the bucket is the reset where none is told") {
  CHECK(windows_of({{"x-ratelimit-limit-requests-minute", "30"},
                    {"x-ratelimit-remaining-requests-minute", "29"},
                    {"x-ratelimit-limit-tokens-hour", "1000"},
                    {"x-ratelimit-remaining-tokens-hour", "1"},
                    {"x-ratelimit-remaining-requests-day", "2"},
                    {"x-ratelimit-remaining-tokens-month", "3"},
                    {"x-ratelimit-remaining-req-10-second", "4"}}) ==
        "requests_per_10_second/requests 4/- in - at -\n"
        "requests_per_minute/requests 29/30 in 60 at -\n"
        "tokens_per_hour/tokens 1/1000 in 3600 at -\n"
        "requests_per_day/requests 2/- in 86400 at -\n"
        "tokens_per_month/tokens 3/- in - at -\n");
}

TEST_CASE("a bucket's own reset counts before its length, in seconds with a fraction") {
  CHECK(windows_of({{"x-ratelimit-limit-requests-day", "28800"},
                    {"x-ratelimit-remaining-requests-day", "28799"},
                    {"x-ratelimit-reset-requests-day", "51629.819103479385"}}) ==
        "requests_per_day/requests 28799/28800 in 51630 at -\n");
}

TEST_CASE("Mistral's req is requests") {
  CHECK(windows_of({{"x-ratelimit-limit-req-minute", "60"}}) ==
        "requests_per_minute/requests -/60 in 60 at -\n");
}

TEST_CASE("buckets come from the shortest to the longest, requests before tokens") {
  Headers headers;
  for (const char* bucket : {"month", "day", "hour", "minute", "10-second"}) {
    for (const char* resource : {"tokens", "requests"}) {
      headers.add(fmt::format("x-ratelimit-remaining-{}-{}", resource, bucket), "1");
    }
  }

  CHECK(names(state_of(headers)) ==
        "requests_per_10_second tokens_per_10_second requests_per_minute tokens_per_minute "
        "requests_per_hour tokens_per_hour requests_per_day tokens_per_day requests_per_month "
        "tokens_per_month ");
}

TEST_CASE("plain headers are windows without a unit") {
  CHECK(windows_of({{"x-ratelimit-limit-requests", "10000"},
                    {"x-ratelimit-remaining-requests", "9999"},
                    {"x-ratelimit-reset-requests", "8.64s"},
                    {"x-ratelimit-limit-tokens", "150000000"},
                    {"x-ratelimit-remaining-tokens", "149999827"},
                    {"x-ratelimit-reset-tokens", "6ms"}}) ==
        "requests/requests 9999/10000 in 9 at -\n"
        "tokens/tokens 149999827/150000000 in 1 at -\n");
}

TEST_CASE("project limits and images are windows of their own") {
  CHECK(windows_of({{"x-ratelimit-remaining-input-images", "49999"},
                    {"x-ratelimit-remaining-project-tokens", "2"},
                    {"x-ratelimit-remaining-project-requests", "1"},
                    {"x-ratelimit-reset-input-images", "1ms"}}) ==
        "project_requests/requests 1/- in - at -\n"
        "project_tokens/tokens 2/- in - at -\n"
        "input_images/input_images 49999/- in 1 at -\n");
}

TEST_CASE("Groq's plain windows are a day of requests and a minute of tokens") {
  const Headers headers{{"x-ratelimit-limit-requests", "14400"},
                        {"x-ratelimit-reset-requests", "6s"},
                        {"x-ratelimit-limit-tokens", "30000"},
                        {"x-ratelimit-reset-tokens", "33.428571ms"}};

  const auto state =
      read_rate_limits({.headers = headers, .plain = PlainLimits::day_requests_minute_tokens});

  CHECK(told(state.windows) ==
        "requests_per_day/requests -/14400 in 6 at -\n"
        "tokens_per_minute/tokens -/30000 in 1 at -\n");
}

TEST_CASE("Azure's renewalperiod counts where there is no readable reset") {
  CHECK(windows_of({{"x-ratelimit-remaining-requests", "248"},
                    {"x-ratelimit-renewalperiod-requests", "60"},
                    {"x-ratelimit-remaining-tokens", "9"},
                    {"x-ratelimit-reset-tokens", "7"},
                    {"x-ratelimit-renewalperiod-tokens", "60"}}) ==
        "requests/requests 248/- in 60 at -\n"
        "tokens/tokens 9/- in 7 at -\n");
}

TEST_CASE("Anthropic's resets are points in time, and one in the past resets in 0 seconds") {
  CHECK(windows_of({{"date", kDate},
                    {"anthropic-ratelimit-requests-limit", "4000"},
                    {"anthropic-ratelimit-requests-remaining", "3999"},
                    {"anthropic-ratelimit-requests-reset", "2026-01-01T00:00:30Z"},
                    {"anthropic-ratelimit-tokens-remaining", "5"},
                    {"anthropic-ratelimit-tokens-reset", "2025-12-31T23:59:00Z"},
                    {"anthropic-ratelimit-input-tokens-remaining", "6"},
                    {"anthropic-ratelimit-output-tokens-limit", "7"}}) ==
        "requests/requests 3999/4000 in 30 at 1767225630\n"
        "tokens/tokens 5/- in 0 at 1767225540\n"
        "input_tokens/input_tokens 6/- in - at -\n"
        "output_tokens/output_tokens -/7 in - at -\n");
}

TEST_CASE("Anthropic's unified limit that is rejected has nothing left") {
  const Headers rejected{{"date", kDate},
                         {"anthropic-ratelimit-unified-status", "rejected"},
                         {"anthropic-ratelimit-unified-reset", "1767229200"}};

  const auto state = state_of(rejected);

  CHECK(told(state.windows) == "unified/unified 0/- in 3600 at 1767229200\n");
  CHECK(state.limited);
  CHECK(retry_after(state) == 3'600);
  CHECK(state_of({{"anthropic-ratelimit-unified-status", "allowed"}}).windows.empty());
}

TEST_CASE("general headers are requests, by size tokens") {
  CHECK(windows_of({{"ratelimit-limit", "400"},
                    {"ratelimit-remaining", "399"},
                    {"ratelimit-reset", "19"},
                    {"ratelimitbysize-limit", "500000"},
                    {"ratelimitbysize-remaining", "401381"},
                    {"ratelimitbysize-reset", "33"}}) ==
        "requests/requests 399/400 in 19 at -\n"
        "tokens/tokens 401381/500000 in 33 at -\n");
  CHECK(windows_of({{"x-ratelimit-limit", "10"},
                    {"x-ratelimit-remaining", "19"},
                    {"x-ratelimit-reset", "1767225660000"},
                    {"date", kDate}}) == "requests/requests 19/10 in 60 at 1767225660\n");
}

TEST_CASE("draft fields are windows with the policy's name, behind the general ones") {
  CHECK(windows_of({{"ratelimit-policy", "\"default\";q=100;w=10"},
                    {"ratelimit", "\"default\";r=50;t=5"},
                    {"ratelimit-remaining", "3"}}) ==
        "requests/requests 3/- in - at -\n"
        "default/requests 50/100 in 5 at -\n");
}

TEST_CASE("dialects come in their order, and the first of two that say the same window stays") {
  const Headers headers{{"anthropic-ratelimit-requests-remaining", "3"},
                        {"ratelimit-remaining", "4"},
                        {"x-ratelimit-remaining-requests", "2"},
                        {"anthropic-ratelimit-tokens-remaining", "5"},
                        {"x-ratelimit-remaining-requests-day", "1"}};

  CHECK(windows_of(headers) ==
        "requests_per_day/requests 1/- in 86400 at -\n"
        "requests/requests 2/- in - at -\n"
        "tokens/tokens 5/- in - at -\n");
}

TEST_CASE("the table of headers is closed") {
  CHECK(windows_of({{"x-ratelimit-limit-minute", "400"},
                    {"x-ratelimit-remaining-tokens_usage_based", "1"},
                    {"x-ratelimit-remaining-tokens-usage-based", "1"},
                    {"x-ratelimit-remaining-audio-seconds-minute", "1"},
                    {"x-ratelimitbysize-remaining-minute", "1"},
                    {"x-ratelimit-key", "1"},
                    {"x-ratelimit-tokens-query-cost", "1"},
                    {"x-ratelimit-requests", "1"},
                    {"x-rate-limit-remaining-tokens", "1"},
                    {"x-ratelimit-remaining-requests-year", "1"},
                    {"anthropic-ratelimit-unified-5h-remaining", "1"},
                    {"ratelimiter-remaining", "1"}}) == "");
}

TEST_CASE("a window needs a readable limit or remaining") {
  CHECK(windows_of({{"x-ratelimit-reset-requests", "6m30s"}}) == "");
  for (const char* text : {"-1", "", "many", "1.5", "1e3", "**REDACTED**", "0x1", "+1", "1, 2"}) {
    CAPTURE(text);
    CHECK(windows_of({{"x-ratelimit-remaining-requests", text}}) == "");
  }
}

TEST_CASE("counts are exact over all of int64 and end there") {
  CHECK(windows_of({{"x-ratelimit-remaining-tokens", "9223372036854767616"},
                    {"x-ratelimit-limit-tokens", "99999999999999999999999"}}) ==
        "tokens/tokens 9223372036854767616/9223372036854775807 in - at -\n");
}

TEST_CASE("the answer's date goes before the time of the caller") {
  const Headers with_date{{"date", kDate}, {"ratelimit-remaining", "1"}, {"ratelimit-reset", "2"}};
  const Headers without{{"ratelimit-remaining", "1"}, {"ratelimit-reset", "2"}};

  CHECK(told(read_rate_limits({.headers = with_date, .now = 5}).windows) ==
        "requests/requests 1/- in 2 at 1767225602\n");
  CHECK(told(read_rate_limits({.headers = without, .now = 5}).windows) ==
        "requests/requests 1/- in 2 at 7\n");
}

TEST_CASE("Gemini's quota is told in the body") {
  const auto state = state_of({}, 429, R"({"error": {"code": 429, "details": [
    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
      {"quotaId": "GenerateContentPaidTierInputTokensPerModelPerMinute", "quotaValue": "1000"},
      {"quotaId": "GenerateRequestsPerDayPerProject", "quotaValue": 50},
      {"quotaId": "SomethingElse"}]},
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}]}})");

  CHECK(told(state.windows) ==
        "tokens_per_minute/tokens 0/1000 in - at -\n"
        "requests_per_day/requests 0/50 in - at -\n");
  CHECK(retry_after(state) == 48);
}

TEST_CASE("a window with nothing left limits, whatever the status") {
  const auto state = state_of(
      {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "6m"}}, 200);

  CHECK(state.limited);
  CHECK(retry_after(state) == 360);
}

TEST_CASE("429 and 529 limit by themselves, other errors only with a retry-after") {
  CHECK(state_of({}, 429).limited);
  CHECK(state_of({}, 529).limited);
  CHECK(!state_of({}, 429).retry_after);
  CHECK(!state_of({}, 503).limited);
  CHECK(state_of({{"retry-after", "5"}}, 503).limited);
  CHECK(state_of({{"retry-after", "5"}}, 400).limited);
  CHECK(!state_of({}).limited);
}

TEST_CASE("a retry-after on a success is told but does not limit") {
  const auto state = state_of({{"retry-after", "35"}}, 200);

  CHECK(!state.limited);
  CHECK(retry_after(state) == 35);
}

TEST_CASE("retry_after is the largest of all that was said") {
  const Headers headers{{"retry-after", "1"}, {"retry-after-ms", "2500"}};
  constexpr std::string_view kWords = R"({"error": {"message": "Please try again in 6.596s."}})";

  CHECK(retry_after(state_of(headers, 429)) == 2.5);
  CHECK(retry_after(state_of(headers, 429, kWords)) == doctest::Approx(6.596));
  CHECK(retry_after(state_of({{"retry-after", "9"}, {"retry-after-ms", "0"}}, 429, kWords)) == 9);
  CHECK(retry_after(state_of({}, 429, R"({"message": "Retry in 1m26.4s"})")) ==
        doctest::Approx(86.4));
  CHECK(retry_after(state_of({}, 429, "try again in 174ms, or try again in 20 seconds")) == 20);
}

TEST_CASE("words of a success are not looked at") {
  const auto state = state_of({}, 200, R"({"message": "try again in 5s"})");

  CHECK(!state.retry_after);
  CHECK(!state.limited);
}

TEST_CASE("retry-after may be an HTTP date, counted from the answer's own") {
  const Headers ahead{{"date", kDate}, {"retry-after", "Thu, 01 Jan 2026 00:01:00 GMT"}};
  const Headers past{{"date", kDate}, {"retry-after", "Wed, 31 Dec 2025 00:00:00 GMT"}};

  CHECK(retry_after(state_of(ahead, 503)) == 60);
  CHECK(retry_after(state_of(past, 503)) == 0);
}

TEST_CASE("a retry-after that cannot be read is none") {
  for (const char* text : {"-5", "soon", "", "1e9999", "NaN"}) {
    CAPTURE(text);
    CHECK(!state_of({{"retry-after", text}, {"retry-after-ms", text}}, 503).retry_after);
  }
}

TEST_CASE("without a retry-after it is the longest reset of the windows that are exhausted") {
  const auto state = state_of({{"x-ratelimit-remaining-requests", "0"},
                               {"x-ratelimit-reset-requests", "1.2s"},
                               {"x-ratelimit-remaining-tokens", "0"},
                               {"x-ratelimit-reset-tokens", "7s"},
                               {"x-ratelimit-remaining-project-tokens", "1"},
                               {"x-ratelimit-reset-project-tokens", "90s"}},
                              429);

  CHECK(retry_after(state) == 7);
}

TEST_CASE("a retry_after that the caller knows counts like the others") {
  const Headers headers{{"retry-after", "5"}};

  CHECK(retry_after(read_rate_limits({.headers = headers, .retry_after = 9.5})) == 9.5);
  CHECK(retry_after(read_rate_limits({.headers = headers, .retry_after = 1})) == 5);
  CHECK(!read_rate_limits({.headers = headers, .retry_after = 9.5}).limited);
}

TEST_CASE("whatever the headers say, the state is bounded and holds a value that can be encoded") {
  CHECK(rc::check([] {
    const auto field = rc::gen::element<std::string>(
        "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "ratelimit", "retry-after",
        "x-ratelimit-limit-tokens-minute", "ratelimit-policy", "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-tokens-limit", "retry-after-ms", "date");
    const auto value = rc::gen::element<std::string>(
        "0", "-1", "99999999999999999999", "5m", "\"a\";r=1;t=99999999999999",
        "2026-01-01T00:00:00Z", "\xff", "", kDate, "1e99", "\"\xff\";r=1", "99999999999d");
    Headers headers;
    for (const auto& [name, text] :
         *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
             rc::gen::pair(field, value))) {
      headers.add(name, text);
    }

    contracts::AgentResult result;
    result.rate_limit = read_rate_limits({.headers = headers, .status = 429, .now = kNow});

    RC_ASSERT(result.rate_limit->limited);
    RC_ASSERT(static_cast<bool>(contracts::decode_agent_result(contracts::encode(result))));
  }));
}
