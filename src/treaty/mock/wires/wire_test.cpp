// What the wires write, read back by the protocols that read providers.
#include "treaty/mock/wires/wire.h"

#include <doctest/doctest.h>

#include "treaty/backends/protocols/stream_parser.h"
#include "treaty/results/finish_reasons.h"

namespace treaty::mock {
namespace {

using backends::Protocol;
using results::Answer;

constexpr Endpoint kEndpoints[] = {Endpoint::chat_completions, Endpoint::responses,
                                   Endpoint::messages, Endpoint::generate_content,
                                   Endpoint::ollama_chat};

const Protocol& protocol_of(Endpoint endpoint) {
  return *backends::find_protocol(name_of(endpoint));
}

Spoken spoken(const backends::Reply& reply, Endpoint endpoint) {
  Ids ids(1);
  const Question question{.asked = {.model = "m", .prompt_bytes = 40}, .include_usage = true};
  return speak(reply, question, endpoint, 1'800'000'000, ids);
}

Answer plain(const backends::Reply& reply, Endpoint endpoint) {
  return protocol_of(endpoint).parse_response(wire_of(endpoint).render(spoken(reply, endpoint)));
}

Answer streamed(const backends::Reply& reply, Endpoint endpoint) {
  backends::StreamParser parser(protocol_of(endpoint));
  for (const Frame& frame : wire_of(endpoint).render_stream(spoken(reply, endpoint))) {
    parser.feed(frame.bytes);
  }
  return parser.finish();
}

TEST_CASE("Every wire's text, usage and model are read back, plain and streamed") {
  const backends::Reply reply{
      .text = {"Some words,\nand \"more\"."},
      .usage = backends::ScriptedUsage{.input_tokens = 9, .output_tokens = 4}};
  for (const Endpoint endpoint : kEndpoints) {
    CAPTURE(name_of(endpoint));
    for (const Answer& answer : {plain(reply, endpoint), streamed(reply, endpoint)}) {
      CHECK(answer.complete);
      CHECK(answer.content == reply.text[0]);
      CHECK(answer.model == "m");
      CHECK(results::finish_reason_of(answer) == "stop");
      REQUIRE(answer.usage);
      CHECK(answer.usage->input_tokens == 9);
      CHECK(answer.usage->output_tokens == 4);
    }
  }
}

TEST_CASE("Every wire's tool calls are read back, plain and streamed") {
  const backends::Reply reply{
      .tool_calls = {{.name = "look", .arguments = R"({"a":"éé é","b":[1,2]})"}, {.name = "go"}}};
  for (const Endpoint endpoint : kEndpoints) {
    CAPTURE(name_of(endpoint));
    for (const Answer& answer : {plain(reply, endpoint), streamed(reply, endpoint)}) {
      REQUIRE(answer.tool_calls.size() == 2);
      CHECK(answer.tool_calls[0].name == "look");
      CHECK(answer.tool_calls[0].arguments == reply.tool_calls[0].arguments);
      CHECK(answer.tool_calls[1].name == "go");
      CHECK(results::finish_reason_of(answer) == "tool_use");
    }
  }
}

TEST_CASE("Every wire's length and refusal are read back as such") {
  for (const Endpoint endpoint : kEndpoints) {
    CAPTURE(name_of(endpoint));
    const backends::Reply cut{.text = {"A"}, .finish_reason = "length"};
    CHECK(results::finish_reason_of(plain(cut, endpoint)) == "length");
    CHECK(results::finish_reason_of(streamed(cut, endpoint)) == "length");
    const backends::Reply refused{.refusal = "No."};
    CHECK(results::finish_reason_of(plain(refused, endpoint)) == "content_filter");
    CHECK(results::finish_reason_of(streamed(refused, endpoint)) == "content_filter");
  }
}

TEST_CASE("Every wire's error inside of a stream is read back as an error") {
  for (const Endpoint endpoint : kEndpoints) {
    CAPTURE(name_of(endpoint));
    Spoken said = spoken({.text = {"Well"}}, endpoint);
    said.error = speak_error({.status = 500}, endpoint, "m", "req_1");
    backends::StreamParser parser(protocol_of(endpoint));
    for (const Frame& frame : wire_of(endpoint).render_stream(said)) parser.feed(frame.bytes);
    CHECK(!parser.finish().error_body.empty());
  }
}

TEST_CASE("Legacy completions are read back, plain and streamed") {
  const backends::Reply reply{.text = {"Some words."}};

  CHECK(plain(reply, Endpoint::completions).content == "Some words.");
  CHECK(streamed(reply, Endpoint::completions).content == "Some words.");
  CHECK(streamed(reply, Endpoint::completions).complete);
}

}  // namespace
}  // namespace treaty::mock
