#include "treaty/results/error_body.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "treaty/base/text.h"

using namespace treaty;
using namespace treaty::results;

namespace {

std::string message_of(std::string_view body) { return ErrorBody(body).message(); }

std::string names_of(std::string_view body) {
  std::string text;
  const ErrorBody error(body);
  for (const std::string_view name : error.names()) text += std::string(name) + " ";
  return text;
}

}  // namespace

TEST_CASE("the message is found in every form that providers have") {
  CHECK(message_of(R"({"error": {"message": "a"}})") == "a");
  CHECK(message_of(R"({"error": "a"})") == "a");
  CHECK(message_of(R"({"message": "a", "object": "error"})") == "a");
  CHECK(message_of(R"({"detail": "a"})") == "a");
  CHECK(message_of(R"({"detail": [{"msg": "a"}]})") == R"([{"msg": "a"}])");
  CHECK(message_of(R"([{"error": {"message": "a"}}])") == "a");
  CHECK(message_of(R"({"response": {"error": {"message": "a"}}})") == "a");
  CHECK(message_of(R"({"code": "x", "error": "a"})") == "a");
  CHECK(message_of("upstream connect error") == "upstream connect error");
}

TEST_CASE("of a page the title is the message, else its heading") {
  CHECK(message_of("<!DOCTYPE html><html><head><TITLE lang=en>502 Bad\n Gateway</TITLE>") ==
        "502 Bad Gateway");
  CHECK(message_of("<html><body><h1>Oh <b>no</b></h1></body></html>") == "Oh no");
  CHECK(message_of("<html><body>nothing to tell</body></html>") == "");
  CHECK(message_of("<title") == "");
  CHECK(message_of("<title>unfinished") == "unfinished");
}

TEST_CASE("a message is one line of UTF-8, and bounded") {
  CHECK(message_of(R"({"message": " a \n\t b\u0000c\u007f "})") == "a b c");
  CHECK(message_of("a\xff"
                   "b") == "a?b");
  const std::string large = message_of(std::string(100'000, 'a'));
  CHECK(large.size() == 4'096);
  std::string wide;
  for (int i = 0; i < 5'000; ++i) wide += "\u20ac";
  CHECK(is_utf8(message_of(wide)));
}

TEST_CASE("names are codes, types, statuses and reasons that are texts") {
  CHECK(names_of(R"({"type": "error", "error": {"type": "t", "code": "c"}})") == "t c ");
  CHECK(names_of(R"({"error": {"code": 400, "status": "S", "details": [{"reason": "R"}, 5]}})") ==
        "S R ");
  CHECK(names_of(R"({"error": {"code": "401", "type": null}})") == "");
  CHECK(names_of(R"({"error": {"innererror": {"code": "I"}}, "type": "t"})") == "I t ");
  CHECK(names_of("not JSON") == "");
}

TEST_CASE("the status is the one that the body names, 400 to 599") {
  CHECK(ErrorBody(R"({"error": {"code": 429}})").status() == 429);
  CHECK(ErrorBody(R"({"error": {"code": "429"}})").status() == 429);
  CHECK(ErrorBody(R"({"error": {"code": "x", "status_code": 400}})").status() == 400);
  CHECK(ErrorBody(R"({"raw_status_code": 429, "code": "1300"})").status() == 429);
  CHECK(!ErrorBody(R"({"error": {"code": 200}})").status());
  CHECK(!ErrorBody(R"({"error": {"code": 4.29e2}})").status());
}

TEST_CASE("an enormous or hostile body is read as far as it is worth") {
  CHECK(ErrorBody(std::string(5'000'000, '[')).message().size() <= 4'096);
  CHECK(ErrorBody("{\"error\": {\"message\": \"" + std::string(3'000'000, 'a')).message().size() <=
        4'096);
  std::string details;
  for (int i = 0; i < 1'000; ++i) details += R"({"reason": "r"},)";
  details.pop_back();
  CHECK(ErrorBody(R"({"error": {"details": [)" + details + "]}}").names().size() <= 64);
}

TEST_CASE("words are found whatever their case") {
  CHECK(find_folded("Please TRY Again", "try again") == 7);
  CHECK(find_folded("abc", "d") == std::string_view::npos);
  CHECK(find_folded("", "a") == std::string_view::npos);
}

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
