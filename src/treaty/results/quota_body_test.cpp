#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "treaty/results/error_body.h"

using namespace treaty;
using namespace treaty::results;

namespace {

constexpr std::string_view kFailure = "type.googleapis.com/google.rpc.QuotaFailure";

QuotaFailure quota_of(const std::string& details) {
  return read_quota(ErrorBody(fmt::format(R"({{"error": {{"details": {}}}}})", details)));
}

QuotaFailure violation(const std::string& members) {
  return quota_of(fmt::format(R"([{{"@type": "{}", "violations": [{{{}}}]}}])", kFailure, members));
}

}  // namespace

TEST_CASE("the quota id names the window, and nothing is left of it") {
  const auto tokens = violation(R"("quotaId": "InputTokensPerModelPerMinute", "quotaValue": "7")");
  REQUIRE(tokens.windows.size() == 1);
  CHECK(tokens.windows[0] == contracts::RateLimitWindow{.name = "tokens_per_minute",
                                                        .resource = "tokens",
                                                        .remaining = Number(0),
                                                        .limit = Number(7)});
  CHECK(violation(R"("quotaId": "RequestsPerDay")").windows.at(0).name == "requests_per_day");
  CHECK(violation(R"("quotaId": "RequestsPerHour")").windows.empty());
  CHECK(violation(R"("quotaId": 5)").windows.empty());
}

TEST_CASE("a quota that is no count is no limit, and a too large one ends at int64") {
  const auto limit = [](const std::string& value) {
    return violation(R"("quotaId": "PerDay", "quotaValue": )" + value).windows.at(0).limit;
  };
  CHECK(limit("50") == Number(50));
  CHECK(limit("\"99999999999999999999\"") == Number(std::numeric_limits<std::int64_t>::max()));
  CHECK(!limit("\"-1\""));
  CHECK(!limit("1.5"));
  CHECK(!limit("\"many\""));
  CHECK(!limit("null"));
}

TEST_CASE("RetryInfo tells a delay") {
  const auto delay = [](const std::string& value) {
    return quota_of(R"([{"@type": "x/google.rpc.RetryInfo", "retryDelay": )" + value + "}]")
        .retry_delay;
  };
  CHECK(delay("\"48s\"") == Duration{.seconds = 48});
  CHECK(delay("\"0.5s\"") == Duration{.nanoseconds = 500'000'000});
  CHECK(!delay("48"));
  CHECK(!delay("\"soon\""));
}

TEST_CASE("details of another form tell nothing") {
  for (const char* details : {"null", "\"text\"", "{}", "[1, null, \"a\", []]",
                              R"([{"@type": "other", "violations": [{"quotaId": "PerDay"}]}])",
                              R"([{"@type": "x/google.rpc.QuotaFailure", "violations": 5}])"}) {
    CAPTURE(details);
    CHECK(quota_of(details).windows.empty());
  }
  CHECK(read_quota(ErrorBody("")).windows.empty());
}

TEST_CASE("the number of windows is bounded") {
  std::string violations;
  for (int i = 0; i < 100; ++i) violations += R"({"quotaId": "PerDay"},)";
  violations.pop_back();

  CHECK(quota_of(fmt::format(R"([{{"@type": "{}", "violations": [{}]}}])", kFailure, violations))
            .windows.size() == 32);
}
