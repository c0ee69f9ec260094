#include "treaty/turns/settled_turn.h"

#include <doctest/doctest.h>

namespace treaty::turns {
namespace {

using contracts::AgentResult;

void check_comes_back(const SettledTurn& turn) {
  const auto read = decode_settled_turn(encode(turn));

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

TEST_CASE("a text that is the result's content is journalled once") {
  const std::string once =
      encode({.mode = "General",
              .answer = contracts::FinalResponse{.primary_output_text = "Done."},
              .result = kSaid});

  CHECK(once.find("Done.") == once.rfind("Done."));
}

TEST_CASE("bytes that are no UTF-8 do not make a result unreadable") {
  CHECK(decode_settled_turn(encode({.mode = "General",
                                    .answer = contracts::FinalResponse{.primary_output_text = "x"},
                                    .result = {.content = "\xFF"}})));
}

TEST_CASE("what is no settled turn is refused as corrupt") {
  for (const auto* text :
       {"", "{", "{}", R"({"agent_result":{}})", R"({"agent_result":3,"error":{}})"}) {
    const auto read = decode_settled_turn(text);
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
