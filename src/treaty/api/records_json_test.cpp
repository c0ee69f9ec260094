#include "treaty/api/records_json.h"

#include <doctest/doctest.h>

#include "treaty/contracts/invoke_result.h"

namespace treaty::api {
namespace {

using store::TurnState;

store::Turn some_turn(TurnState state) {
  return {.number = 2,
          .turn_id = "t2",
          .state = state,
          .round = 1,
          .mode = "General",
          .tool_deadline = 86'400'000,
          .created_at = 0,
          .updated_at = 1'500};
}

std::string waiting_answer() {
  return contracts::encode(
      contracts::InvokeResult{
          .outcome =
              contracts::AgentExecuteResponse{
                  .session_id = "s1",
                  .turn_id = "t2",
                  .mode_display_name = "General",
                  .kind = contracts::ClientToolContinuation{.tool_calls = {{"a", "look", "{}"}}}}},
      contracts::Dialect::camel);
}

TEST_CASE("times are RFC 3339 in UTC with milliseconds") {
  CHECK(timestamp_of(0) == "1970-01-01T00:00:00.000Z");
  CHECK(timestamp_of(1'700'000'000'042) == "2023-11-14T22:13:20.042Z");
  CHECK(timestamp_of(-1) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("a turn that is accepted is shown as running") {
  CHECK(shown_state(TurnState::accepted) == "running");
  CHECK(shown_state(TurnState::awaiting_tools) == "awaiting_tools");
  CHECK(shown_state(TurnState::expired) == "expired");
}

TEST_CASE("a session shows what is known of it") {
  const store::Session session{.room = {"local", "s1"}, .updated_at = 1'000, .turns = 3};
  json::Writer writer;
  write_session(writer, session, "t3");

  CHECK(writer.take() ==
        R"({"SessionId":"s1","TurnCount":3,"NewestTurnId":"t3",)"
        R"("CreatedAt":"1970-01-01T00:00:00.000Z","UpdatedAt":"1970-01-01T00:00:01.000Z"})");
}

TEST_CASE("a turn in a list has no result") {
  json::Writer writer;
  write_turn(writer, "s1", some_turn(TurnState::completed));

  CHECK(writer.take() ==
        R"({"SessionId":"s1","TurnId":"t2","Number":2,"State":"completed",)"
        R"("ModeDisplayName":"General","Rounds":2,)"
        R"("CreatedAt":"1970-01-01T00:00:00.000Z","UpdatedAt":"1970-01-01T00:00:01.500Z"})");
}

TEST_CASE("a turn that waits shows its calls and its deadline, and its answer as it was given") {
  const std::string body = waiting_answer();
  store::TurnRecord record{
      .turn = some_turn(TurnState::awaiting_tools),
      .rounds = {{.request = {}, .answer = store::AnswerRecord{.body = body}}}};
  record.turn.pending = R"([{"ToolCallId":"a","Name":"look","ArgumentsJson":"{}"}])";
  json::Writer writer;
  write_turn(writer, "s1", record);
  const std::string text = writer.take();

  CHECK(text.contains(R"("ToolDeadline":"1970-01-02T00:00:00.000Z")"));
  CHECK(text.contains(
      R"("PendingToolCalls":[{"ToolCallId":"a","Name":"look","ArgumentsJson":"{}"}])"));
  CHECK(text.ends_with("\"Result\":" + body + "}"));
}

TEST_CASE("a turn that runs again after its tools shows the answer before") {
  const store::TurnRecord record{
      .turn = some_turn(TurnState::accepted),
      .rounds = {{.request = {}, .answer = store::AnswerRecord{.body = waiting_answer()}}, {}}};
  json::Writer writer;
  write_turn(writer, "s1", record);
  const std::string text = writer.take();

  CHECK(text.contains(R"("State":"running")"));
  CHECK(text.contains(R"("Result":{)"));
  CHECK(!text.contains("PendingToolCalls"));
}

TEST_CASE("an empty body has no texts, and names are read in either case") {
  CHECK(read_texts("", {"TurnId"})->empty());
  CHECK(read_texts(" \n", {"TurnId"})->empty());
  CHECK(read_texts("{}", {"TurnId"})->empty());
  CHECK(read_texts(R"({"TurnId":null})", {"TurnId"})->empty());
  CHECK(read_texts(R"({"turnId":"t/1"})", {"TurnId"})->at("TurnId") == "t/1");
}

TEST_CASE("a body that is no such object is refused with its place") {
  for (const std::string_view body :
       {"x", "[]", "1", R"({"TurnId":5})", R"({"TurnId":" "})", R"({"Other":"x"})",
        R"({"TurnId":"a","turnId":"b"})", "{\"TurnId\":\"\xFF\"}", "\xFF"}) {
    CAPTURE(body);
    const auto texts = read_texts(body, {"TurnId"});
    REQUIRE(!texts);
    CHECK(texts.error().reason == turns::Reason::contract_violation);
  }
  CHECK(read_texts(R"({"TurnId":5})", {"TurnId"}).error().context == "/TurnId");
}

}  // namespace
}  // namespace treaty::api
