// What the answer writers of a protocol write, its readers read back, whole and streamed.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/stream_parser.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/results/agent_results.h"
#include "treaty/testing/generators.h"

namespace treaty::backends {
namespace {

using results::Answer;

OutgoingAnswer outgoing(std::vector<std::string> pieces) {
  return {.id = "a1",
          .message_id = "m1",
          .created = 1'800'000'000,
          .model = "m",
          .pieces = std::move(pieces),
          .finish_reason = "stop",
          .usage = {.input = 9, .output = 4},
          .include_usage = true};
}

Answer whole(const OutgoingAnswer& answer, const Protocol& protocol) {
  return protocol.parse_response(protocol.write_answer(answer));
}

Answer streamed(const OutgoingAnswer& answer, const Protocol& protocol) {
  StreamParser parser(protocol);
  for (const StreamFrame& frame : protocol.write_stream(answer)) parser.feed(frame.bytes);
  return parser.finish();
}

std::vector<const Protocol*> protocols_with_tools() {
  std::vector<const Protocol*> all;
  for (const Protocol* protocol : all_protocols()) {
    if (protocol != &completions()) all.push_back(protocol);
  }
  return all;
}

TEST_CASE("Every protocol reads back the text, usage and model that it wrote, whole and streamed") {
  const OutgoingAnswer said = outgoing({"Some words,\nand ", "\"more\"."});
  for (const Protocol* protocol : all_protocols()) {
    CAPTURE(protocol->name);
    for (const Answer& answer : {whole(said, *protocol), streamed(said, *protocol)}) {
      CHECK(answer.complete);
      CHECK(answer.content == said.text());
      CHECK(answer.model == "m");
      CHECK(results::finish_reason_of(answer) == "stop");
      REQUIRE(answer.usage);
      CHECK(answer.usage->input_tokens == 9);
      CHECK(answer.usage->output_tokens == 4);
    }
  }
}

TEST_CASE("Every protocol reads back any text and any arguments that it wrote") {
  CHECK(rc::check([] {
    OutgoingAnswer said = outgoing({});
    const int pieces = *rc::gen::inRange(0, 4);
    for (int i = 0; i < pieces; ++i) said.pieces.push_back(repaired_utf8(*testing::any_text()));
    const int calls = *rc::gen::inRange(0, 3);
    for (int i = 0; i < calls; ++i) {
      json::Writer arguments;
      arguments.begin_object().member("a", repaired_utf8(*testing::any_text()));
      const std::string number = std::to_string(i);
      said.tool_calls.push_back({.id = "call_" + number,
                                 .item_id = "fc_" + number,
                                 .name = "look",
                                 .arguments = arguments.end_object().take()});
    }
    if (calls > 0) said.finish_reason = "tool_use";
    for (const Protocol* protocol : protocols_with_tools()) {
      for (const Answer& answer : {whole(said, *protocol), streamed(said, *protocol)}) {
        RC_LOG() << protocol->name;
        RC_ASSERT(answer.complete);
        RC_ASSERT(answer.content == said.text());
        RC_ASSERT(results::finish_reason_of(answer) == said.finish_reason);
        RC_ASSERT(answer.tool_calls.size() == said.tool_calls.size());
        for (std::size_t i = 0; i < said.tool_calls.size(); ++i) {
          RC_ASSERT(answer.tool_calls[i].name == said.tool_calls[i].name);
          RC_ASSERT(answer.tool_calls[i].arguments == said.tool_calls[i].arguments);
        }
      }
    }
  }));
}

TEST_CASE("Every protocol reads back thoughts that it wrote, apart from the text") {
  OutgoingAnswer said = outgoing({"Some ", "words."});
  said.thinking = {"Let me ", "see."};
  said.thought_id = "rs_1";
  said.signature = "c2lnbmVk";
  said.usage.reasoning = 2;
  for (const Protocol* protocol : protocols_with_tools()) {
    CAPTURE(protocol->name);
    for (const Answer& answer : {whole(said, *protocol), streamed(said, *protocol)}) {
      CHECK(answer.complete);
      CHECK(answer.content == said.text());
      CHECK(answer.thinking == said.thinking_text());
      CHECK(answer.thoughts.size() == 1);
      CHECK(answer.usage->output_tokens == 4);
    }
  }
}

TEST_CASE("Gemini writes a signature on the first call, and on the text when there is none") {
  OutgoingAnswer said = outgoing({"Well."});
  said.thinking = {"Hm."};
  said.signature = "c2lnbmVk";
  said.tool_calls = {{"a", "1", "f", "{}"}, {"b", "2", "g", "{}"}};
  for (const Answer& answer : {whole(said, gemini()), streamed(said, gemini())}) {
    REQUIRE(answer.thoughts.size() == 1);
    CHECK(answer.thoughts[0].json == R"({"functionCall":{},"thoughtSignature":"c2lnbmVk"})");
    CHECK(answer.thoughts[0].text == 5);
  }
}

TEST_CASE("Every protocol reads back a length and a refusal as such") {
  OutgoingAnswer cut = outgoing({"A"});
  cut.finish_reason = "length";
  OutgoingAnswer refused = outgoing({});
  refused.refusal = "No.";
  refused.finish_reason = "content_filter";
  for (const Protocol* protocol : protocols_with_tools()) {
    CAPTURE(protocol->name);
    CHECK(results::finish_reason_of(whole(cut, *protocol)) == "length");
    CHECK(results::finish_reason_of(streamed(cut, *protocol)) == "length");
    CHECK(results::finish_reason_of(whole(refused, *protocol)) == "content_filter");
    CHECK(results::finish_reason_of(streamed(refused, *protocol)) == "content_filter");
  }
}

TEST_CASE("Every protocol reads back an error inside of a stream as an error") {
  for (const Protocol* protocol : all_protocols()) {
    CAPTURE(protocol->name);
    OutgoingAnswer said = outgoing({"Well"});
    said.error = usual_error(*protocol, 500, "m");
    CHECK(!streamed(said, *protocol).error_body.empty());
  }
}

TEST_CASE("Tokens from a cache are read back where the protocol counts them") {
  OutgoingAnswer said = outgoing({"A"});
  said.usage = {.input = 100, .output = 4, .cache_read = 30, .cache_write = 20};
  for (const Protocol* protocol :
       {&chat_completions(), &responses(), &anthropic_messages(), &gemini()}) {
    CAPTURE(protocol->name);
    for (const Answer& answer : {whole(said, *protocol), streamed(said, *protocol)}) {
      REQUIRE(answer.usage);
      CHECK(answer.usage->input_tokens == 100);
      CHECK(answer.usage->cache_read_tokens == 30);
    }
  }
}

}  // namespace
}  // namespace treaty::backends
