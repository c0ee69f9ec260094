#include "treaty/turns/views/assistant_view.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/text.h"
#include "treaty/testing/generators.h"
#include "treaty/turns/seal.h"
#include "treaty/turns/settled_turn.h"

using namespace treaty;
using namespace treaty::turns;
using contracts::AssistantResponse;
using contracts::ConfidenceLevel;
using store::TurnState;

namespace {

const store::Room kRoom{.tenant = "acme", .session_id = "s1"};
constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kTraceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

AssistantResponse view(TurnState state, std::string error_code = {}) {
  return assistant_view(
      kRoom, {.turn = {.turn_id = "t1", .state = state, .error_code = std::move(error_code)}},
      kTraceparent);
}

}  // namespace

TEST_CASE("a completed turn was processed") {
  CHECK(view(TurnState::completed) ==
        AssistantResponse{.assistant_message = "I processed your request.",
                          .action_taken = "Processed request.",
                          .confidence_level = ConfidenceLevel::high,
                          .trace_id = std::string(kTrace)});
}

TEST_CASE("a turn that waits for tools asks for something") {
  CHECK(view(TurnState::awaiting_tools) ==
        AssistantResponse{.assistant_message = "I need a bit more information to proceed. The "
                                               "results of tools are still awaited.",
                          .action_taken = "Requested clarification.",
                          .next_steps = {"Provide missing details"},
                          .confidence_level = ConfidenceLevel::medium,
                          .trace_id = std::string(kTrace)});
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

TEST_CASE("a completed turn whose model said nothing asks for more") {
  const auto completed = [](std::string_view text) {
    const contracts::AgentResult result{.content = std::string(text)};
    const contracts::FinalResponse final{.primary_output_text = seal(std::string(text)).text};
    const SettledTurn settled{.answer = final, .result = result};
    store::TurnRecord record{.turn = {.turn_id = "t1", .state = TurnState::completed}};
    record.rounds = {{.answer = store::AnswerRecord{.result = encode(settled, {})}}};
    return assistant_view(kRoom, record, "");
  };

  for (const std::string_view nothing : {"", " \n\t"}) {
    CHECK(completed(nothing).assistant_message ==
          "I need a bit more information to proceed. Could you provide more details?");
    CHECK(completed(nothing).action_taken == "Requested clarification.");
    CHECK(completed(nothing).confidence_level == ConfidenceLevel::medium);
  }
  CHECK(completed("Fine.").assistant_message == "I processed your request.");
}

TEST_CASE("the trace_id is that of the traceparent, if there is one") {
  const store::TurnRecord turn{.turn = {.turn_id = "turn/7"}};
  const std::string parent(kTraceparent);

  CHECK(assistant_view(kRoom, turn, parent).trace_id == kTrace);
  CHECK(assistant_view(kRoom, turn, "01" + parent.substr(2) + "-what").trace_id == kTrace);
  CHECK(assistant_view(kRoom, turn, parent + "-00").trace_id ==
        assistant_view(kRoom, turn, "").trace_id);
}

TEST_CASE("without a traceparent the trace_id is a UUID of that turn, the same each time") {
  const store::TurnRecord turn{.turn = {.turn_id = "t1", .created_at = 5}};
  const std::string trace = assistant_view(kRoom, turn, "").trace_id;

  CHECK(is_uuid(trace));
  CHECK(assistant_view(kRoom, turn, "").trace_id == trace);
  store::TurnRecord later = turn;
  later.turn.state = TurnState::completed;
  CHECK(assistant_view(kRoom, later, "").trace_id == trace);

  CHECK(assistant_view({"acme", "s2"}, turn, "").trace_id != trace);
  CHECK(assistant_view({"other", "s1"}, turn, "").trace_id != trace);
  CHECK(assistant_view({"acmes", "1"}, turn, "").trace_id != trace);
  CHECK(assistant_view(kRoom, {.turn = {.turn_id = "t2", .created_at = 5}}, "").trace_id != trace);
  CHECK(assistant_view(kRoom, {.turn = {.turn_id = "t1", .created_at = 6}}, "").trace_id != trace);
}

TEST_CASE("the trace of the request that began a turn comes before that of whoever asks") {
  const std::string line = R"({"index":0,"kind":"turn.accepted","at":1,"data":{"Round":0,)";
  store::TurnRecord record{.turn = {.turn_id = "t1"}};
  record.rounds = {{.request = {.events = line + "\"TraceId\":\"abc\"}}\n"}},
                   {.request = {.events = line + "\"TraceId\":\"def\"}}\n"}}};

  CHECK(assistant_view(kRoom, record, "").trace_id == "abc");
  CHECK(assistant_view(kRoom, record, kTraceparent).trace_id == "abc");
}

TEST_CASE("a TurnId is no part of the trace_id") {
  for (const std::string id : {"/etc/passwd", "sk-ant-api03-0123456789abcdef0123456789"}) {
    CHECK(is_uuid(assistant_view(kRoom, {.turn = {.turn_id = id}}, "").trace_id));
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
    const AssistantResponse response = assistant_view(kRoom, {.turn = turn}, *testing::any_text());
    const auto decoded = contracts::decode_assistant_response(contracts::encode(response));
    RC_ASSERT(static_cast<bool>(decoded));
    RC_ASSERT(*decoded == response);
  }));
}
