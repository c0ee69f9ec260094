#include "treaty/api/answers.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/base/json.h"
#include "treaty/contracts/agent_execute_request.h"

namespace treaty::api {
namespace {

using contracts::Dialect;
using turns::Reason;

contracts::InvokeError error_in(const http::Response& response) {
  const auto result = contracts::decode_invoke_result(response.body);
  REQUIRE(result);
  const auto* failure = std::get_if<contracts::Failure>(&result->outcome);
  REQUIRE(failure != nullptr);
  REQUIRE(failure->errors.size() == 1);
  return failure->errors.front();
}

contracts::Findings violations_of(std::string_view body) {
  return contracts::decode_agent_execute_request(body).error();
}

http::Response refused(const turns::Refusal& refusal, Dialect dialect = Dialect::pascal) {
  return refusal_response(refusal, invoke_result_renderer(), dialect);
}

// The format of another family of routes.
class PlainText final : public turns::Renderer {
 public:
  std::string_view format() const override { return "plain"; }
  std::string_view content_type() const override { return "text/plain"; }
  turns::Rendered render(const turns::SettledTurn&, Dialect) const override { return {}; }
  std::string render(const turns::Refusal& refusal, Dialect, std::string) const override {
    return refusal.message;
  }
  std::string respell(const std::string& body, Dialect) const override { return body; }
  int status_of(std::string_view) const override { return 200; }
};

TEST_CASE("a refusal is written by the renderer of its family of routes") {
  const auto response = refusal_response({Reason::turn_not_found, "No such turn."}, PlainText());

  CHECK(response.status == 404);
  CHECK(response.headers.get("content-type") == "text/plain");
  CHECK(response.body == "No such turn.");
}

TEST_CASE("a refusal is an InvokeResult with one error, and nobody keeps it") {
  const auto response = refused({Reason::turn_not_found, "There is no such turn.", "t1"});

  CHECK(response.status == 404);
  CHECK(response.headers.get("content-type") == "application/json; charset=utf-8");
  CHECK(response.headers.get("cache-control") == "no-store");
  CHECK(error_in(response).error_code == "turn_not_found");
  CHECK(error_in(response).context == "t1");
}

TEST_CASE("a refusal is spelled in the dialect of its request") {
  const auto response = refused({Reason::forbidden, "No."}, Dialect::camel);

  CHECK(response.body.contains(R"("errorCode":"forbidden")"));
  CHECK(!response.body.contains("ErrorCode"));
}

TEST_CASE("whoever may try again later is told when, and who needs a key how to send it") {
  CHECK(!refused({Reason::store_unavailable, "x"}).headers.get("retry-after").empty());
  CHECK(!refused({Reason::budget_exhausted, "x"}).headers.get("retry-after").empty());
  CHECK(refused({Reason::internal, "x"}).headers.find("retry-after") == nullptr);
  CHECK(refused({Reason::unauthenticated, "x"})
            .headers.get("www-authenticate")
            .starts_with("Bearer"));
}

TEST_CASE("the answer to a round has the status of its code and says when to try again") {
  turns::Outcome outcome = turns::outcome_of({Reason::turn_expired, "Too late."},
                                             invoke_result_renderer(), Dialect::pascal);
  outcome.error_code = "rate_limit";
  outcome.retry_after = 2.1;

  const auto response = outcome_response(outcome, invoke_result_renderer(), Dialect::pascal);

  CHECK(response.status == 429);
  CHECK(response.headers.get("retry-after") == "3");
  CHECK(response.body == outcome.body);
}

TEST_CASE("an answer that a limit has cost says which one, where it tells to come back") {
  turns::Outcome outcome = turns::outcome_of({Reason::turn_expired, "Too late."},
                                             invoke_result_renderer(), Dialect::pascal);
  outcome.limits = {{.name = "requests", .limit = 60, .remaining = 0, .resets_in = 12}};
  const auto header = [&](std::string code) {
    outcome.error_code = std::move(code);
    return std::string(outcome_response(outcome, invoke_result_renderer(), Dialect::pascal)
                           .headers.get("ratelimit"));
  };

  CHECK(header("rate_limit") == R"("requests";r=0;t=12)");
  CHECK(header("budget_exhausted") == R"("requests";r=0;t=12)");
  CHECK(header("model_unavailable") == R"("requests";r=0;t=12)");
  CHECK(header("server_error").empty());
  CHECK(header("").empty());
}

TEST_CASE("violations are one error: the first in the message, all of them in the details") {
  const auto refusal = violation_refusal(violations_of(R"({"Instruction": 5, "TurnId": "t"})"));

  CHECK(refusal.reason == Reason::contract_violation);
  CHECK(refusal.context == "/SessionId");
  CHECK(refusal.message.contains("SessionId is missing"));
  CHECK(refusal.message.ends_with("(and 1 more)"));
  CHECK(refusal.details ==
        "REQ-01 /SessionId: SessionId is missing\n"
        "REQ-03 /Instruction: Instruction is a number, not a string");
}

TEST_CASE("of many violations fifty are told, and how many more there are") {
  std::string body = R"({"SessionId":"s","TurnId":"t","Instruction":"x","InputArtifacts":[)";
  for (int i = 0; i < 70; ++i) body += i == 0 ? "1" : ",1";

  const auto refusal = violation_refusal(violations_of(body + "]}"));

  REQUIRE(refusal.details);
  CHECK(std::ranges::count(*refusal.details, '\n') == 50);
  CHECK(refusal.details->ends_with("and 20 more"));
}

TEST_CASE("details show no path, though the client's own text names one") {
  const std::string body = R"({"SessionId":"s","TurnId":"t","Instruction":"x",
      "/home/app/server/main.cpp": 1, "Mode": "x", "ToolResults": "/etc/passwd"})";
  const auto refusal = violation_refusal(violations_of(body));

  const auto error = error_in(refused(refusal));

  CHECK(error.details.value_or("").contains("REQ-12"));
}

TEST_CASE("a long message is cut between two characters") {
  contracts::Findings findings = violations_of("{}");
  findings.front().message.clear();
  for (int i = 0; i < 200; ++i) findings.front().message += "é";
  findings.front().message.insert(0, "x");

  const auto error = error_in(refused(violation_refusal(findings)));

  CHECK(error.message.size() < 1'000);
}

TEST_CASE("warnings of the decoder are warnings of the answer") {
  const auto decoded = contracts::decode_agent_execute_request(
      R"({"SessionId":"s","TurnId":"t","Instruction":"x","Color":"red"})");
  REQUIRE(decoded);

  const auto warnings = warnings_of(decoded.warnings());

  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].code == "contract_warning");
  CHECK(warnings[0].context == "/Color");
  CHECK(warnings[0].details == "REQ-15");
  CHECK(!warnings[0].is_fatal);
}

TEST_CASE("a store that cannot be used now is unavailable, a damaged one an error of ours") {
  CHECK(refusal_of({ErrorCode::unavailable, "disk full"}).reason == Reason::store_unavailable);
  CHECK(refusal_of({ErrorCode::corrupt, "page 7"}).reason == Reason::internal);
  CHECK(!refusal_of({ErrorCode::corrupt, "page 7"}).message.contains("page 7"));
}

using dispatch::LimitLine;
using Lines = std::vector<LimitLine>;

const Lines kTwo = {
    {.name = "requests_per_minute", .limit = 60, .length = 60, .remaining = 0, .resets_in = 29.2},
    {.name = "tokens_per_day", .remaining = 12.9, .resets_in = 3'600}};

TEST_CASE("A limit tells what is left and when it is full again, its policy what it is") {
  CHECK(rate_limit_field(kTwo) ==
        R"("requests_per_minute";r=0;t=30, "tokens_per_day";r=12;t=3600)");
  CHECK(rate_limit_policy_field(kTwo) == R"("requests_per_minute";q=60;w=60)");
}

TEST_CASE("A window of unknown length is left out of the policy") {
  CHECK(rate_limit_policy_field(Lines{{.name = "x", .limit = 5}}) == R"("x";q=5)");
}

TEST_CASE("Names stay inside their quotes") {
  CHECK(rate_limit_field(Lines{{.name = "a\"b\\c\r\nx: é"}}) == R"("a\"b\\c??x: ??";r=0;t=0)");
}

TEST_CASE("A name comes once, and no more than eight of them") {
  Lines many(3, kTwo[0]);
  CHECK(rate_limit_field(many) == R"("requests_per_minute";r=0;t=30)");

  many.clear();
  for (int i = 0; i < 20; ++i) many.push_back({.name = std::to_string(i), .limit = 1});
  CHECK(std::ranges::count(rate_limit_field(many), ',') == 7);
  CHECK(std::ranges::count(rate_limit_policy_field(many), ',') == 7);
}

TEST_CASE("An answer without limits has no such headers") {
  http::Response response;

  add_limit_headers(response, {});
  CHECK(response.headers.find("ratelimit") == nullptr);
  CHECK(response.headers.find("ratelimit-policy") == nullptr);

  add_limit_headers(response, kTwo);
  CHECK(response.headers.get("ratelimit") == rate_limit_field(kTwo));
  CHECK(response.headers.get("ratelimit-policy") == rate_limit_policy_field(kTwo));
}

TEST_CASE("Whatever a provider says, both fields are lists of strings with whole numbers") {
  const std::string name = R"RE("(?:[ !#-\[\]-~]|\\["\\])*")RE";
  const std::string number = "[0-9]{1,15}";
  const std::regex field("(?:(?:^|, )" + name + ";r=" + number + ";t=" + number + ")+");
  const std::regex policy("(?:(?:^|, )" + name + ";q=" + number + "(?:;w=" + number + ")?)+");

  CHECK(rc::check([&](const std::vector<std::string>& names, double absurd) {
    const double infinite = std::numeric_limits<double>::infinity();
    Lines lines;
    for (const std::string& one : names) {
      const auto any = rc::gen::element(absurd, absurd * 1e18, infinite, -infinite, std::nan(""));
      lines.push_back({one, "", *any, *any, *any, *any});
    }
    RC_PRE(!lines.empty());
    RC_ASSERT(std::regex_match(rate_limit_field(lines), field));
    RC_ASSERT(std::regex_match(rate_limit_policy_field(lines), policy));
  }));
}

}  // namespace
}  // namespace treaty::api
