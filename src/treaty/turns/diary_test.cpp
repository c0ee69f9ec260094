// What the diary of a session says about each step of dispatch.
#include "treaty/turns/diary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace treaty::turns {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::CostInfo;
using contracts::UsageInfo;
using dispatch::DispatchRule;

const dispatch::Choice kFast{.backend = "fast", .model = "small"};
const dispatch::Choice kGood{.backend = "good", .model = "large"};

TEST_CASE("A note names the backend and its model") {
  CHECK(backend_data(kFast) == R"({"Backend":"fast","Model":"small"})");
  CHECK(started_data(kFast, 2) == R"({"Backend":"fast","Model":"small","Attempt":2})");
}

TEST_CASE("An attempt that went well says how long it took and what it has used") {
  AgentResult result{.finish_reason = "stop"};
  result.usage = UsageInfo{.input_tokens = 12, .output_tokens = 3};
  result.cost = 0.25;

  CHECK(ended_data(kFast, 1, 1.2341, result) ==
        R"({"Backend":"fast","Model":"small","Attempt":1,"Milliseconds":1235,)"
        R"("FinishReason":"stop","InputTokens":12,"OutputTokens":3,"Cost":0.25})");
}

TEST_CASE("An attempt that failed says why, whether it may pass, and what it has used") {
  AgentResult result{.finish_reason = "error"};
  result.error =
      AgentError{.message = "no", .code = "rate_limit", .status_code = 429, .retryable = true};
  result.usage = UsageInfo{.input_tokens = 12};
  result.provider_data = json::ObjectText{{"request_id", "r-1"}};

  CHECK(ended_data(kFast, 3, 0, result) ==
        R"({"Backend":"fast","Model":"small","Attempt":3,"Milliseconds":0,)"
        R"("ErrorCode":"rate_limit","Status":429,"Retryable":true,"RequestId":"r-1",)"
        R"("InputTokens":12})");
}

TEST_CASE("An attempt that was cancelled is aborted, and not to be tried again") {
  AgentResult result{.finish_reason = "aborted", .error = AgentError{.message = "gone"}};

  CHECK(ended_data(kFast, 1, 0.5, result) ==
        R"({"Backend":"fast","Model":"small","Attempt":1,"Milliseconds":500,)"
        R"("ErrorCode":"aborted","Retryable":false})");
}

TEST_CASE("Lines that were taken are not written again, and can still be read") {
  Diary diary({.number = 1, .turn_id = "t1"}, "", 0);
  diary.add("attempt.failed", 5, "{}");
  const std::string taken = diary.take_lines();
  diary.add("switched", 6, "{}");

  CHECK(taken.contains("attempt.failed"));
  CHECK(!diary.lines().contains("attempt.failed"));
  CHECK(diary.lines().contains("switched"));
  CHECK(diary.after(0).size() == 2);

  Diary again({.number = 1, .turn_id = "t1"}, "earlier\n", 0);
  again.add("attempt.failed", 5, "{}");
  CHECK(again.take_lines().contains("attempt.failed"));
  CHECK(again.lines().starts_with("earlier"));
  CHECK(again.lines().contains("attempt.failed"));

  diary.give_back_lines();
  CHECK(diary.lines().contains("attempt.failed"));
}

TEST_CASE("The text of a provider's failure is not in the diary") {
  AgentResult result{.error = AgentError{.message = "key sk-1 is wrong", .code = "auth_error"}};

  CHECK(ended_data(kFast, 1, 0, result).find("sk-1") == std::string::npos);
}

TEST_CASE("A cost of several parts is told by its total, or else their sum") {
  AgentResult parts;
  parts.cost = CostInfo{.input = 1.0, .total = 1.5};
  CHECK(ended_data(kFast, 1, 0, parts).ends_with(R"("Cost":1.5})"));

  AgentResult untold;
  untold.cost = CostInfo{.input = 1.0, .output = 0.5};
  CHECK(ended_data(kFast, 1, 0, untold).ends_with(R"("Cost":1.5})"));
}

TEST_CASE("A cost that is no number is not told") {
  AgentResult broken;
  broken.cost = std::nan("");

  CHECK(ended_data(kFast, 1, 0, broken).ends_with(R"("Milliseconds":0})"));
}

TEST_CASE("A request's id that is no text is left out") {
  AgentResult result;
  result.provider_data = json::ObjectText{{"request_id", 7}};

  CHECK(ended_data(kFast, 1, 0, result).find("RequestId") == std::string::npos);
}

TEST_CASE("A wait is told in seconds to the millisecond, rounded up, with its rule and reason") {
  CHECK(waiting_data(kFast, 2.0001, {DispatchRule::pacing, "the window \"x\" is used up"}) ==
        R"({"Backend":"fast","Model":"small","Seconds":2.001,"Rule":"pacing",)"
        R"("Reason":"the window \"x\" is used up"})");
}

TEST_CASE("Times beyond all bounds stay numbers") {
  const double endless = std::numeric_limits<double>::infinity();

  CHECK(waiting_data(kFast, endless, {DispatchRule::retry, ""}) ==
        R"({"Backend":"fast","Model":"small","Seconds":1000000000000.0,"Rule":"retry",)"
        R"("Reason":""})");
  CHECK(waiting_data(kFast, 0, {DispatchRule::retry, ""}) ==
        R"({"Backend":"fast","Model":"small","Rule":"retry","Reason":""})");
  CHECK(ended_data(kFast, 1, endless, {}) ==
        R"({"Backend":"fast","Model":"small","Attempt":1,"Milliseconds":1000000000000000})");
}

TEST_CASE("A switch says from whom to whom, and why") {
  CHECK(switched_data(kFast, kGood, {DispatchRule::not_retryable, "auth_error"}) ==
        R"({"From":"fast","FromModel":"small","To":"good","ToModel":"large",)"
        R"("Rule":"not_retryable","Reason":"auth_error"})");
}

}  // namespace
}  // namespace treaty::turns
