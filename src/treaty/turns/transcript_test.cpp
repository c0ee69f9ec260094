#include "treaty/turns/transcript.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::turns;
using testing::any_text;

namespace {

backends::Message some_message() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0: {
      backends::UserMessage message;
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        if (*rc::gen::arbitrary<bool>()) {
          message.parts.emplace_back(backends::TextPart{*any_text()});
        } else {
          message.parts.emplace_back(backends::ImagePart{*any_text(), *any_text()});
        }
      }
      return message;
    }
    case 1: {
      backends::AssistantMessage message{.text = *any_text()};
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        message.tool_calls.push_back({*any_text(), *any_text(), *any_text()});
      }
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        message.thoughts.author = *any_text();
        message.thoughts.lasting = *rc::gen::arbitrary<bool>();
        message.thoughts.parts.push_back({*rc::gen::inRange<std::size_t>(0, 9'999),
                                          *rc::gen::inRange<std::size_t>(0, 99), *any_text()});
      }
      return message;
    }
    default: break;
  }
  return backends::ToolMessage{*any_text(), *any_text(), *any_text(), *rc::gen::arbitrary<bool>()};
}

Progress some_progress() {
  Progress progress{.cost = *rc::gen::arbitrary<double>(), .tool_rounds = *rc::gen::inRange(0, 99)};
  if (*rc::gen::arbitrary<bool>()) {
    progress.usage = contracts::Usage{.prompt_tokens = *rc::gen::arbitrary<std::int64_t>(),
                                      .completion_tokens = *rc::gen::arbitrary<std::int64_t>(),
                                      .total_tokens = *rc::gen::arbitrary<std::int64_t>()};
    if (*rc::gen::arbitrary<bool>()) progress.usage->cached_tokens = 7;
    if (*rc::gen::arbitrary<bool>()) progress.usage->reasoning_tokens = 0;
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    progress.calls[*any_text()] = *rc::gen::inRange(0, 1'000);
    progress.call_ids.insert(*any_text());
  }
  return progress;
}

}  // namespace

TEST_CASE("a transcript is written in plain words") {
  const Transcript transcript{
      .messages = {backends::AssistantMessage{
                       .text = "Let me see.",
                       .tool_calls = {{"c1", "read_file", "{\"path\":\"a\"}"}}},
                   backends::ToolMessage{"c1", "read_file", "\"x\"", false}},
      .progress = {.usage = contracts::Usage{3, 4, 7, 1, {}},
                   .cost = 0.25,
                   .tool_rounds = 1,
                   .calls = {{"read_file 0a", 1}},
                   .call_ids = {"c1"}},
      .refused = {"anthropic/claude"}};

  CHECK(encode(transcript) ==
        R"({"messages":[{"role":"assistant","text":"Let me see.","tool_calls":[{"id":"c1",)"
        R"("name":"read_file","arguments":"{\"path\":\"a\"}"}]},{"role":"tool","id":"c1",)"
        R"("name":"read_file","content":"\"x\"","failed":false}],"progress":{"usage":{"prompt":3,)"
        R"("completion":4,"total":7,"cached":1},"cost":0.25,"tool_rounds":1,)"
        R"("calls":{"read_file 0a":1},"call_ids":["c1"]},"refused":["anthropic/claude"]})");
}

TEST_CASE("decoding what was encoded gives the same transcript") {
  CHECK(rc::check([] {
    Transcript transcript{.progress = some_progress()};
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) transcript.refused.insert(*any_text());
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
      transcript.messages.push_back(some_message());
    }

    const auto decoded = decode_transcript(encode(transcript));

    RC_ASSERT(decoded.has_value());
    RC_ASSERT(*decoded == transcript);
  }));
}

TEST_CASE("what was not encoded here is corrupt, however close it comes") {
  const std::string good = encode(Transcript{});
  REQUIRE(decode_transcript(good));
  for (
      const std::string_view bad :
      {"", "null", "[]", "{}", R"({"progress":{},"messages":[]})",
       R"({"messages":{},"progress":{"cost":0.0,"tool_rounds":0,"calls":{},"call_ids":[]}})",
       R"({"messages":[7],"progress":{"cost":0.0,"tool_rounds":0,"calls":{},"call_ids":[]}})",
       R"({"messages":[],"progress":{"cost":"0","tool_rounds":0,"calls":{},"call_ids":[]}})",
       R"({"messages":[],"progress":{"cost":0.0,"tool_rounds":-1,"calls":{},"call_ids":[]}})",
       R"({"messages":[],"progress":{"cost":0.0,"tool_rounds":0,"calls":{"f":"1"},"call_ids":[]}})",
       R"({"messages":[],"progress":{"cost":0.0,"tool_rounds":0,"calls":{},"call_ids":[1]}})",
       R"({"messages":[],"progress":{"cost":0.0,"tool_rounds":0,"calls":{},"call_ids":[]},"x":1})"}) {
    CAPTURE(bad);
    const auto decoded = decode_transcript(bad);
    REQUIRE(!decoded);
    CHECK(decoded.error().code == ErrorCode::corrupt);
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(!decode_transcript(std::string_view(good).substr(0, size)));
  }
}

TEST_CASE("what is empty is left out, and read where an earlier version wrote it") {
  const Transcript transcript{.messages = {backends::AssistantMessage{.text = "Done."}}};

  const auto earlier =
      decode_transcript(R"({"messages":[{"role":"assistant","text":"Done.","tool_calls":[]}],)"
                        R"("progress":{"cost":0.0,"tool_rounds":0,"calls":{},"call_ids":[]}})");

  CHECK(encode(transcript) == R"({"messages":[{"role":"assistant","text":"Done."}]})");
  REQUIRE(earlier);
  CHECK(*earlier == transcript);
}

TEST_CASE("a cost that no JSON can hold is written as none") {
  const auto decoded =
      decode_transcript(encode({.progress = {.cost = std::numeric_limits<double>::infinity()}}));

  REQUIRE(decoded);
  CHECK(decoded->progress.cost == 0);
}
