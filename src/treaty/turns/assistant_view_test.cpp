#include "treaty/turns/assistant_view.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::turns;
using contracts::AssistantResponse;
using contracts::ConfidenceLevel;
using store::TurnState;

namespace {

AssistantResponse view(TurnState state, std::string error_code = {}) {
  return assistant_view(
      {.turn = {.turn_id = "t1", .state = state, .error_code = std::move(error_code)}}, "");
}

}  // namespace

TEST_CASE("a completed turn was processed") {
  CHECK(view(TurnState::completed) ==
        AssistantResponse{.assistant_message = "I processed your request.",
                          .action_taken = "Processed request.",
                          .confidence_level = ConfidenceLevel::high,
                          .trace_id = "t1"});
}

TEST_CASE("a turn that waits for tools asks for something") {
  CHECK(view(TurnState::awaiting_tools) ==
        AssistantResponse{.assistant_message = "I need a bit more information to proceed. The "
                                               "results of tools are still awaited.",
                          .action_taken = "Requested clarification.",
                          .next_steps = {"Provide missing details"},
                          .confidence_level = ConfidenceLevel::medium,
                          .trace_id = "t1"});
}

TEST_CASE("a turn that runs is deferred") {
  CHECK(view(TurnState::accepted).action_taken == "Deferred task creation.");
}

TEST_CASE("a turn that ended badly has failed, with a phrase for its code") {
  CHECK(view(TurnState::failed, "rate_limit").action_taken ==
        "Failed to execute task: too many requests at the moment.");
  CHECK(view(TurnState::failed, "rate_limit").confidence_level == ConfidenceLevel::low);
  CHECK(view(TurnState::failed, "context_length").action_taken ==
        "Failed to execute task: the request is too long.");
  CHECK(view(TurnState::cancelled, "turn_cancelled").action_taken ==
        "Failed to execute task: the request was cancelled.");
  CHECK(view(TurnState::expired).action_taken ==
        "Failed to execute task: the results of the tools did not come in time.");
}

TEST_CASE("a code that nobody knows shows nothing of itself") {
  CHECK(view(TurnState::failed, "gpt_5_is_down").action_taken ==
        "Failed to execute task: an unknown problem.");
}

TEST_CASE("the trace_id is that of the traceparent, else the TurnId") {
  const store::TurnRecord turn{.turn = {.turn_id = "turn/7"}};
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

  CHECK(assistant_view(turn, parent).trace_id == "4bf92f3577b34da6a3ce929d0e0e4736");
  CHECK(assistant_view(turn, "").trace_id == "turn/7");
  CHECK(assistant_view(turn, parent + "-00").trace_id == "turn/7");
  CHECK(assistant_view(turn, "01" + parent.substr(2) + "-what").trace_id ==
        "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST_CASE("the trace of the request that began a turn comes before that of whoever asks") {
  const std::string line = R"({"index":0,"kind":"turn.accepted","at":1,"data":{"Round":0,)";
  store::TurnRecord record{.turn = {.turn_id = "t1"}};
  record.rounds = {{.request = {.events = line + "\"TraceId\":\"abc\"}}\n"}},
                   {.request = {.events = line + "\"TraceId\":\"def\"}}\n"}}};

  CHECK(assistant_view(record, "").trace_id == "abc");
  CHECK(
      assistant_view(record, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").trace_id ==
      "abc");
}

TEST_CASE("a TurnId that looks like a path or a key is no trace_id") {
  for (const std::string id : {"/etc/passwd", "sk-ant-api03-0123456789abcdef0123456789"}) {
    const std::string trace = assistant_view({.turn = {.turn_id = id}}, "").trace_id;
    CHECK(!trace.contains(id));
    CHECK(!trace.empty());
  }
}

TEST_CASE("a traceparent that breaks its format is none") {
  for (const std::string_view bad :
       {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x"}) {
    CAPTURE(bad);
    CHECK(trace_id_of(bad).empty());
  }
}

TEST_CASE("every turn makes a response that keeps the contract") {
  CHECK(rc::check([] {
    const store::Turn turn{
        .turn_id = *rc::gen::oneOf(testing::any_text(),
                                   rc::gen::element<std::string>("/etc/passwd/x", "", " ", "sk-a")),
        .state =
            *rc::gen::element(TurnState::accepted, TurnState::awaiting_tools, TurnState::completed,
                              TurnState::failed, TurnState::cancelled, TurnState::expired),
        .error_code = *testing::any_text()};
    const AssistantResponse response = assistant_view({.turn = turn}, *testing::any_text());
    const auto decoded = contracts::decode_assistant_response(contracts::encode(response));
    RC_ASSERT(static_cast<bool>(decoded));
    RC_ASSERT(*decoded == response);
  }));
}
