#include "treaty/contracts/agent_execute_request.h"

#include <doctest/doctest.h>

using namespace treaty::contracts;

TEST_CASE("AGN-034 §2.1: a user turn decodes with all it carries") {
  const auto request = decode_agent_execute_request(R"({
    "sessionId": "s1", "turnId": "t1", "instruction": "Explain it.",
    "inputArtifacts": [{"relativePath": "src\\a.c", "fileName": "a.c", "contents": "QQ==",
                        "origin": "user", "encoding": "base64"}],
    "ragScope": {"conditions": [{"key": "repo", "operator": "!=", "values": ["x"]}]},
    "repo": " ", "streaming": true})");

  REQUIRE(request);
  CHECK(request->dialect == Dialect::camel);
  const auto& turn = std::get<UserTurn>(request->scenario);
  CHECK(turn.instruction == "Explain it.");
  CHECK(turn.input_artifacts[0].origin == Origin::user);
  CHECK(turn.input_artifacts[0].encoding == Encoding::base64);
  CHECK(turn.rag_scope->conditions[0].comparison == RagCondition::Operator::not_equal);
  CHECK(!turn.repo);
  CHECK(turn.streaming);
}

TEST_CASE("AGN-034 §2.2: tool results make a continuation, whatever is absent beside them") {
  const auto request = decode_agent_execute_request(R"({
    "SessionId": "s1", "TurnId": "t1", "Instruction": "", "InputArtifacts": [],
    "ToolResults": [{"ToolCallId": "c1", "ExecutionMs": 7, "ErrorMessage": "denied"}]})");

  REQUIRE(request);
  CHECK(request.verdict().kind == "tool_continuation");
  const auto& results = std::get<ToolContinuation>(request->scenario).tool_results;
  CHECK(results[0].execution_ms == 7);
  CHECK(std::get<ErrorMessage>(results[0].outcome).text == "denied");
}

TEST_CASE("all violations are told, in document order, with line and column") {
  const auto request = decode_agent_execute_request(
      "{\n  \"Mode\": \"x\",\n  \"SessionId\": \"\xC3\xA9\", \"TraceId\": 1,\n  \"TurnId\": \" "
      "\"\n}");

  REQUIRE(!request);
  const Findings& found = request.error();
  REQUIRE(found.size() == 4);
  CHECK(found[0].rule == "REQ-10");
  CHECK(found[1].rule == "REQ-12");
  CHECK(found[1].line == 2);
  CHECK(found[1].column == 11);
  CHECK(found[2].where == "/TraceId");
  CHECK(found[2].line == 3);
  CHECK(found[2].column == 32);
  CHECK(found[3].rule == "REQ-02");
}

TEST_CASE("REQ-13: a refusal says whether a member is state or a setting, and what to do") {
  const auto request = decode_agent_execute_request(R"({"SessionId": "s", "TurnId": "t",
      "Instruction": "i", "thread_id": "x", "Temperature": 0.2})");

  REQUIRE(!request);
  const Findings& found = request.error();
  REQUIRE(found.size() == 2);
  CHECK(found[0].message == "thread_id is state of a provider, and the server keeps it");
  CHECK(found[0].hint == "leave it out; SessionId and TurnId are all that a follow-on needs");
  CHECK(found[1].message ==
        "Temperature is a setting of a model, and a request has none: the configuration of the "
        "agent decides how its models are called");
  CHECK(found[1].hint == "leave it out");
}

TEST_CASE("the dialect follows the first member that the contract knows") {
  CHECK(decode_agent_execute_request(R"({"x": 1, "SessionId": "s", "turnId": "t",
                                         "instruction": "i"})")
            ->dialect == Dialect::pascal);
}

TEST_CASE("a missing member is spelt as the document spells") {
  CHECK(
      decode_agent_execute_request(R"({"sessionId": "s", "instruction": "i"})").error()[0].where ==
      "/turnId");
  CHECK(
      decode_agent_execute_request(R"({"SessionId": "s", "Instruction": "i"})").error()[0].where ==
      "/TurnId");
}

TEST_CASE("a request is written in its own dialect, without what is absent") {
  const AgentExecuteRequest request{.session_id = "s",
                                    .turn_id = "t",
                                    .scenario = UserTurn{.instruction = "hi"},
                                    .dialect = Dialect::camel};

  CHECK(encode(request) == R"({"sessionId":"s","turnId":"t","instruction":"hi"})");
}

TEST_CASE("D1: where ids are optional a user turn may lack both, but neither alone") {
  const DecodeOptions options{.ids_optional = true};
  const auto rule_of = [&](std::string_view body) {
    return decode_agent_execute_request(body, options).error().front().rule.text();
  };
  const auto request = decode_agent_execute_request(R"({"Instruction": "i"})", options);

  REQUIRE(request);
  CHECK(request->session_id.empty());
  CHECK(request->turn_id.empty());
  CHECK(rule_of(R"({"TurnId": "t", "Instruction": "i"})") == "REQ-01");
  CHECK(rule_of(R"({"SessionId": "s", "Instruction": "i"})") == "REQ-02");
  CHECK(rule_of(R"({"ToolResults": [{"ToolCallId": "a", "ExecutionMs": 1, "ResultJson": "1"}]})") ==
        "REQ-01");
  CHECK(!decode_agent_execute_request(R"({"Instruction": "i"})"));
}
