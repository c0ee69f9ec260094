#include "treaty/contracts/agent_execute_response.h"

#include <doctest/doctest.h>

using namespace treaty::contracts;

TEST_CASE("AGN-033 §3.4: a final response with an empty ToolCalls bucket is refused") {
  auto response = decode_agent_execute_response(R"({
    "Kind": "final", "SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General",
    "PrimaryOutputText": "Done.", "ToolCalls": []})");

  REQUIRE(!response);
  CHECK(response.error().front().rule == "RES-12");
  CHECK(response.error().front().where == "/ToolCalls");
}

TEST_CASE("AGN-033 §3.5: an empty bucket that is allowed stays apart from an absent one") {
  const auto response = decode_agent_execute_response(R"({
    "Kind": "final", "SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General",
    "PrimaryOutputText": "Done.", "Files": []})");

  REQUIRE(response);
  const auto& final = std::get<FinalResponse>(response->kind);
  CHECK(final.files == std::vector<FileRef>{});
  CHECK(!final.user_warnings);
}

TEST_CASE("AGN-033 §3.1: a foreign member is refused with a word on where it belongs") {
  const auto response = decode_agent_execute_response(R"({
    "Kind": "final", "SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General",
    "PrimaryOutputText": "Done.", "previous_response_id": "r1", "ErrorCode": null})");

  REQUIRE(response.error().size() == 2);
  CHECK(response.error()[0].hint == "continuation state of a provider stays on the server");
  CHECK(response.error()[1].hint == "errors are told by the InvokeResult around it");
}

TEST_CASE("a continuation is written with its calls in order and nothing of a final") {
  const AgentExecuteResponse response{
      .session_id = "s",
      .turn_id = "t",
      .mode_display_name = "General",
      .kind = ClientToolContinuation{.tool_calls = {{"c1", "read_file", "{}"}}}};

  CHECK(encode(response) ==
        R"({"Kind":"client_tool_continuation","SessionId":"s","TurnId":"t",)"
        R"("ModeDisplayName":"General","ToolCalls":[{"ToolCallId":"c1","Name":"read_file",)"
        R"("ArgumentsJson":"{}"}]})");
}
