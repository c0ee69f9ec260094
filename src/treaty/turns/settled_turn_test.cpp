#include "treaty/turns/settled_turn.h"

#include <doctest/doctest.h>

namespace treaty::turns {
namespace {

using contracts::AgentResult;

void check_comes_back(const SettledTurn& turn, const Transcript& transcript = {}) {
  const auto read = decode_settled_turn(encode(turn, transcript), encode(transcript));

  REQUIRE(read);
  CHECK(read->answer == turn.answer);
  CHECK(read->result == turn.result);
  CHECK(read->warnings == turn.warnings);
  CHECK(read->backend == turn.backend);
  CHECK(read->model == turn.model);
}

const AgentResult kSaid{.content = "Done.",
                        .usage = contracts::UsageInfo{.input_tokens = 3, .api_calls = 2},
                        .finish_reason = "stop"};

TEST_CASE("a settled turn comes back from the journal with its answer and its AgentResult") {
  check_comes_back({.mode = "General",
                    .answer = contracts::FinalResponse{.primary_output_text = "Done."},
                    .warnings = {{.code = "contract_warning", .message = "mind it"}},
                    .result = kSaid,
                    .backend = "main",
                    .model = "m1"});
  check_comes_back({.mode = "General",
                    .answer = contracts::FinalResponse{.primary_output_text = "Sealed otherwise.",
                                                       .user_warnings = {{"changed"}}},
                    .result = kSaid});
  check_comes_back({.mode = "General",
                    .answer = contracts::ClientToolContinuation{.tool_calls = {{"c1", "read_file",
                                                                                "{\"a\":1}"}}},
                    .result = {.finish_reason = "tool_use",
                               .tool_calls = {{{"c1", "read_file", "{\"a\":1}"}}}}});
  const AnswerError error{.code = "timeout",
                          .message = "Too late.",
                          .is_fatal = true,
                          .is_system = true,
                          .context = "/TurnId",
                          .details = "d"};
  check_comes_back({.answer = error, .result = result_of(error)});
}

TEST_CASE("an answer that is the result's content and usage is journalled once") {
  contracts::FinalResponse answer{.primary_output_text = "Done.",
                                  .usage = contracts::Usage{.prompt_tokens = 3, .total_tokens = 3}};
  SettledTurn turn{.mode = "General", .answer = answer, .result = kSaid};

  CHECK(!encode(turn, {}).contains("response"));
  check_comes_back(turn);
  answer.usage->total_tokens = 4;  // Of more than this round.
  turn.answer = answer;
  check_comes_back(turn);
}

TEST_CASE("a text that is the result's content is journalled once") {
  const std::string once =
      encode({.mode = "General",
              .answer = contracts::FinalResponse{.primary_output_text = "Done."},
              .result = kSaid},
             {});

  CHECK(once.find("Done.") == once.rfind("Done."));
}

TEST_CASE("a text that the transcript has is not repeated, and comes back from there") {
  const SettledTurn turn{.mode = "General",
                         .answer = contracts::FinalResponse{.primary_output_text = "Done."},
                         .result = kSaid};
  const Transcript transcript{.messages = {backends::AssistantMessage{.text = "Done."}}};

  CHECK(!encode(turn, transcript).contains("Done."));
  check_comes_back(turn, transcript);
  check_comes_back(turn, {.messages = {backends::AssistantMessage{.text = "Let me see."}}});
  check_comes_back(turn, {.messages = {backends::ToolMessage{"c1", "f", "Done.", false}}});
}

TEST_CASE("a text that was left to a transcript that is not there makes the turn corrupt") {
  const std::string json =
      encode({.mode = "General",
              .answer = contracts::FinalResponse{.primary_output_text = "Done."},
              .result = kSaid},
             {.messages = {backends::AssistantMessage{.text = "Done."}}});

  for (const std::string& transcript : {std::string(), std::string("{"), encode(Transcript{})}) {
    const auto read = decode_settled_turn(json, transcript);
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::corrupt);
  }
}

TEST_CASE("an answer whose text is a content that is not there is corrupt") {
  std::string journalled =
      encode({.answer = contracts::FinalResponse{.primary_output_text = "Done.",
                                                 .user_warnings = std::vector<std::string>{"w"}},
              .result = {.content = "Done."}},
             {});
  CHECK(decode_settled_turn(journalled, ""));
  const std::size_t content = journalled.find("\"content\"");
  REQUIRE(content != std::string::npos);
  journalled.replace(content, std::string_view("\"content\"").size(), "\"other\"");

  const auto read = decode_settled_turn(journalled, "");

  REQUIRE(!read);
  CHECK(read.error().code == ErrorCode::corrupt);
}

TEST_CASE("bytes that are no UTF-8 do not make a result unreadable") {
  CHECK(decode_settled_turn(encode({.mode = "General",
                                    .answer = contracts::FinalResponse{.primary_output_text = "x"},
                                    .result = {.content = "\xFF"}},
                                   {}),
                            ""));
}

TEST_CASE("what is no settled turn is refused as corrupt") {
  for (const auto* text :
       {"", "{", "{}", R"({"agent_result":3})", R"({"agent_result":{},"response":{}})"}) {
    const auto read = decode_settled_turn(text, "");
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::corrupt);
  }
}

TEST_CASE("a cancelled turn was aborted, and what is fatal is not retryable") {
  CHECK(result_of({.code = "turn_cancelled", .is_fatal = true}).finish_reason == "aborted");
  CHECK(result_of({.code = "turn_cancelled", .is_fatal = true}).error->retryable == false);
  CHECK(result_of({.code = "internal"}).finish_reason == "error");
}

}  // namespace
}  // namespace treaty::turns
