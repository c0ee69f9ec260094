#include <doctest/doctest.h>

#include "treaty/results/agent_results.h"

using namespace treaty::results;

namespace {

std::string_view reason_of(std::string raw, bool with_tool_call = false) {
  Answer answer{.complete = true, .finish_reason_raw = std::move(raw)};
  if (with_tool_call) answer.tool_calls.push_back({.id = "a", .name = "look", .arguments = "{}"});
  return finish_reason_of(answer);
}

void check_all(std::initializer_list<const char*> raw, std::string_view expected) {
  for (const char* word : raw) {
    CAPTURE(word);
    CHECK(reason_of(word) == expected);
  }
}

}  // namespace

TEST_CASE("every word for a natural end is stop, and so is one that nobody knows") {
  check_all({"stop", "end_turn", "stop_sequence", "eos", "completed", "STOP", "pause_turn",
             "compaction", "", "something_new"},
            "stop");
}

TEST_CASE("every word for a full answer is length") {
  check_all({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length",
             "model_context_window_exceeded"},
            "length");
}

TEST_CASE("every word for tool calls is tool_use") {
  check_all({"tool_calls", "tool_use", "function_call"}, "tool_use");
}

TEST_CASE("every word for a filter is content_filter") {
  check_all({"content_filter", "refusal", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST",
             "SPII", "MODEL_ARMOR"},
            "content_filter");
}

TEST_CASE("every word for a failure is error") {
  check_all({"error", "failed", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}, "error");
}

TEST_CASE("every word for a caller that went away is aborted") {
  check_all({"cancelled", "aborted"}, "aborted");
}

TEST_CASE("any stop with tool calls is tool_use, other reasons stay") {
  for (const char* raw : {"stop", "STOP", "completed", "end_turn", "", "something_new"}) {
    CAPTURE(raw);
    CHECK(reason_of(raw, true) == "tool_use");
  }
  CHECK(reason_of("length", true) == "length");
  CHECK(reason_of("SAFETY", true) == "content_filter");
}

TEST_CASE("a refusal with stop is content_filter") {
  CHECK(finish_reason_of({.refusal = "No.", .finish_reason_raw = "stop"}) == "content_filter");
  CHECK(finish_reason_of({.refusal = "No.", .finish_reason_raw = "length"}) == "length");
}

TEST_CASE("a prompt that was blocked is content_filter, whatever the reason") {
  CHECK(finish_reason_of({.finish_reason_raw = "OTHER", .prompt_blocked = true}) ==
        "content_filter");
}
