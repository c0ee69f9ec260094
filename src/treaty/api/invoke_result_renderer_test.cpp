#include "treaty/api/invoke_result_renderer.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/testing/generators.h"
#include "treaty/turns/compose.h"

namespace treaty::api {
namespace {

using contracts::AgentError;
using contracts::Dialect;
using contracts::InvokeResult;
using turns::Rendered;

InvokeResult result_with(
    std::variant<contracts::FinalResponse, contracts::ClientToolContinuation> kind) {
  return {.outcome = contracts::AgentExecuteResponse{.session_id = "s",
                                                     .turn_id = "t",
                                                     .mode_display_name = "General",
                                                     .kind = std::move(kind)}};
}

turns::SettledTurn settled(turns::TypedAnswer answer) {
  return {.session_id = "s1",
          .turn_id = "t1",
          .mode = "General",
          .answer_id = "r1",
          .answer = std::move(answer)};
}

TEST_CASE("a final, a continuation and an error are rendered with the ids of their turn") {
  const auto& renderer = invoke_result_renderer();

  CHECK(renderer.render(settled(contracts::FinalResponse{.primary_output_text = "Hi."}), {}).body ==
        R"({"Successful":true,"Result":{"Kind":"final","SessionId":"s1","TurnId":"t1",)"
        R"("ModeDisplayName":"General","PrimaryOutputText":"Hi."},"Errors":[],"Warnings":[],)"
        R"("ResultId":"r1"})");
  const auto asks = renderer.render(
      settled(contracts::ClientToolContinuation{.tool_calls = {{"c1", "look", "{}"}}}), {});
  CHECK(asks.body.contains(R"("Kind":"client_tool_continuation")"));
  CHECK(asks.error_code.empty());
  const auto fails = renderer.render(
      settled(turns::AnswerError{.code = "timeout", .message = "Late.", .is_system = true}), {});
  CHECK(fails.error_code == "timeout");
  CHECK(fails.body.contains(R"("ErrorCode":"timeout")"));
}

TEST_CASE("a refusal has an id only when it is given one") {
  const turns::Refusal refusal{turns::Reason::not_found, "nothing here"};

  CHECK(!invoke_result_renderer().render(refusal, Dialect::pascal, "").contains("ResultId"));
  CHECK(invoke_result_renderer()
            .render(refusal, Dialect::camel, "r9")
            .contains(R"("resultId":"r9")"));
}

TEST_CASE("whatever a backend's error holds, what is written keeps the contract") {
  CHECK(rc::check([] {
    const AgentError error{
        .message = *testing::any_text() +
                   *rc::gen::element<std::string>("", "sk-proj-abcdefgh12345678", "/etc/passwd/x",
                                                  "\xFF", "https://a:b@c/", "PASSWORD=x"),
        .code = *rc::gen::element<std::string>("invalid_request", "context_length", "é", ""),
        .type = *testing::any_text(),
        .status_code = 400};
    const auto written = invoke_result_renderer().render(
        turns::SettledTurn{.answer_id = "r1", .answer = turns::error_of(error)}, Dialect::pascal);
    RC_ASSERT(written.broken.empty());
  }));
}

TEST_CASE("what keeps the contract is written as it is, in both dialects") {
  CHECK(rc::check([] {
    InvokeResult result = *testing::any_invoke_result();
    const auto dialect = *testing::any_dialect();

    const Rendered written = write_checked(result, dialect);

    RC_ASSERT(written.broken.empty());
    RC_ASSERT(written.body == contracts::encode(result, dialect));
    const auto* failure = std::get_if<contracts::Failure>(&result.outcome);
    RC_ASSERT(written.error_code == (failure ? failure->errors[0].error_code : ""));
  }));
}

TEST_CASE("an answer of ours that breaks its contract is withheld") {
  const contracts::FinalResponse payload{.primary_output_text = "{}"};
  const contracts::FinalResponse bytes{.primary_output_text = "\xFF"};
  const contracts::ClientToolContinuation no_calls{.tool_calls = {}};
  const contracts::ClientToolContinuation twice{.tool_calls = {{"a", "f", "{}"}, {"a", "f", "{}"}}};

  for (InvokeResult result :
       {result_with(payload), result_with(bytes), result_with(no_calls), result_with(twice),
        InvokeResult{.outcome = contracts::Failure{}},
        InvokeResult{.outcome = contracts::Failure{{{.error_code = "", .message = "m"}}}},
        InvokeResult{.outcome = contracts::Failure{
                         {{.error_code = "c", .message = "m", .details = "/etc/passwd/x"}}}}}) {
    result.result_id = "r1";
    const Rendered written = write_checked(result, contracts::Dialect::camel);

    CHECK(!written.broken.empty());
    CHECK(written.error_code == "internal");
    const auto decoded = contracts::decode_invoke_result(written.body);
    REQUIRE(decoded);
    CHECK(std::get<contracts::Failure>(decoded->outcome).errors[0].error_code == "internal");
    CHECK(decoded->result_id == "r1");
    CHECK(written.body.starts_with("{\"successful\":false"));
  }
  CHECK(write_checked(result_with(payload), {}).broken[0].starts_with("RES-30 /Result/Primary"));
}

}  // namespace
}  // namespace treaty::api
