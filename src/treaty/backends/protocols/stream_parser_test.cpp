// What holds for the streams of every protocol, tried on the project's own transcripts.
#include "treaty/backends/protocols/stream_parser.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/testing/transcripts.h"

using namespace treaty;
using namespace treaty::backends;
using testing::comparable;
using testing::read_streams;
using testing::result_of;
using testing::Transcript;

namespace {

using Pieces = std::vector<std::string_view>;

std::string whole(const Transcript& transcript) {
  return comparable(result_of(transcript, {transcript.recording.body}));
}

std::string with_body(const Transcript& transcript, const std::string& body) {
  return comparable(result_of(transcript, {body}));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

const Protocol& a_protocol() { return chat_completions(); }

constexpr std::string_view kChunk =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
constexpr std::string_view kEnd =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

constexpr const char* kPing = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
constexpr const char* kStart =
    "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n";
constexpr const char* kTextBlock =
    R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
    "\n\n";

std::string event_of(std::string_view json) { return http::event_bytes("", json); }

}  // namespace

TEST_CASE("every protocol has transcripts of text and of tool calls, streamed and plain") {
  const auto transcripts = testing::read_transcripts();

  CHECK(transcripts.size() >= 16);
  for (const char* stem : {"chat", "responses", "messages", "gemini", "ollama"}) {
    for (const char* rest : {"-text-plain", "-text-stream", "-tools-plain", "-tools-stream"}) {
      CAPTURE(stem);
      CAPTURE(rest);
      CHECK(std::ranges::find(transcripts, std::string(stem) + rest, &Transcript::name) !=
            transcripts.end());
    }
  }
}

TEST_CASE("a stream that is cut in two at any byte gives the same result") {
  for (const Transcript& transcript : read_streams()) {
    CAPTURE(transcript.name);
    const std::string expected = whole(transcript);
    const std::string_view body = transcript.recording.body;
    for (std::size_t at = 0; at <= body.size(); ++at) {
      if (comparable(result_of(transcript, {body.substr(0, at), body.substr(at)})) == expected)
        continue;
      FAIL_CHECK("the cut at byte " << at << " changes the result");
      break;
    }
  }
}

TEST_CASE("a stream that comes byte by byte gives the same result") {
  for (const Transcript& transcript : read_streams()) {
    CAPTURE(transcript.name);
    Pieces bytes;
    for (const char& byte : transcript.recording.body) bytes.emplace_back(&byte, 1);

    CHECK(comparable(result_of(transcript, bytes)) == whole(transcript));
  }
}

TEST_CASE("a stream that is cut anywhere, any number of times, gives the same result") {
  const auto streams = read_streams();
  CHECK(rc::check([&] {
    const Transcript& transcript = streams[*rc::gen::inRange<std::size_t>(0, streams.size())];
    const std::string_view body = transcript.recording.body;
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, body.size() + 1)));
    cuts.push_back(body.size());
    std::ranges::sort(cuts);
    Pieces pieces;
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
      pieces.push_back(body.substr(begin, cut - begin));
      begin = cut;
    }

    RC_ASSERT(comparable(result_of(transcript, pieces)) == whole(transcript));
  }));
}

TEST_CASE("a stream that ends before its terminal marker is whole is an error, never stop") {
  for (const Transcript& transcript : read_streams()) {
    CAPTURE(transcript.name);
    const std::string_view body = transcript.recording.body;
    const std::size_t end = std::min(transcript.whole_at, body.size());
    for (std::size_t at = 0; at < end; ++at) {
      const auto result = result_of(transcript, {body.substr(0, at)});
      const bool told = result.error && result.finish_reason == "error";
      // Before an error event is whole, a cut is all that can be told.
      if (told && (transcript.whole_at == std::string::npos ||
                   (result.error->code == "server_error" && result.error->retryable == true))) {
        continue;
      }
      FAIL_CHECK("the end at byte " << at << " passes for a whole answer");
      break;
    }
  }
}

TEST_CASE("a stream without a blank line at its end is whole when its terminal marker is") {
  for (const Transcript& transcript : read_streams()) {
    if (transcript.whole_at == std::string::npos) continue;
    CAPTURE(transcript.name);
    const std::string_view body = transcript.recording.body;

    const auto result = result_of(transcript, {body.substr(0, transcript.whole_at)});

    CHECK(!result.error);
    CHECK(result.finish_reason == result_of(transcript, {body}).finish_reason);
  }
}

TEST_CASE("the same answer, streamed and plain, is the same result") {
  const auto transcripts = testing::read_transcripts();
  std::size_t pairs = 0;
  for (const Transcript& stream : transcripts) {
    if (!stream.is_stream()) continue;
    const std::string twin = stream.name.substr(0, stream.name.size() - 6) + "plain";
    const auto plain = std::ranges::find(transcripts, twin, &Transcript::name);
    if (plain == transcripts.end()) continue;
    CAPTURE(stream.name);
    ++pairs;
    CHECK(whole(stream) == whole(*plain));
  }
  CHECK(pairs >= 12);
}

TEST_CASE("line ends, comments and a byte order mark change nothing") {
  for (const Transcript& transcript : read_streams()) {
    if (!transcript.is_event_stream()) continue;
    CAPTURE(transcript.name);
    const std::string& body = transcript.recording.body;
    const std::string expected = whole(transcript);

    CHECK(with_body(transcript, replaced(body, "\n", "\r\n")) == expected);
    CHECK(with_body(transcript, replaced(body, "\n", "\r")) == expected);
    CHECK(with_body(transcript, "\xEF\xBB\xBF" + body) == expected);
    CHECK(with_body(transcript, replaced(body, "data:", ": ping\nid: 7\nretry: 5\ndata:")) ==
          expected);
    CHECK(with_body(transcript, replaced(body, "data: ", "data:")) == expected);
    CHECK(with_body(transcript, ": hello\n\n\n\n" + body + "\n: bye") == expected);
  }
}

TEST_CASE("lines of JSON may end with CRLF and be blank") {
  for (const Transcript& transcript : read_streams()) {
    if (transcript.is_event_stream()) continue;
    CAPTURE(transcript.name);
    const std::string& body = transcript.recording.body;

    CHECK(with_body(transcript, replaced(body, "\n", "\r\n")) == whole(transcript));
    CHECK(with_body(transcript, replaced(body, "\n", "\n\n \n")) == whole(transcript));
  }
}

TEST_CASE("every transcript's result is a valid AgentResult without warnings") {
  for (const Transcript& transcript : testing::read_transcripts()) {
    CAPTURE(transcript.name);
    const auto result = result_of(transcript, {transcript.recording.body});

    const auto decoded = contracts::decode_agent_result(contracts::encode(result));

    CHECK(static_cast<bool>(decoded));
    CHECK(decoded.warnings().empty());
  }
}

TEST_CASE("feeding tells the text that came, and all of it together is the content") {
  for (const Transcript& transcript : read_streams()) {
    if (!transcript.name.contains("-text-")) continue;
    CAPTURE(transcript.name);
    StreamParser parser(*transcript.recording.protocol);
    std::string text;
    for (const char& byte : transcript.recording.body) {
      text += parser.feed(std::string_view(&byte, 1));
    }

    CHECK(text == parser.finish().content);
    CHECK(!text.empty());
  }
}

TEST_CASE("what cannot be read makes a stream hopeless, and so does an error") {
  for (const char* bytes : {"data: {\"choices\n\n", "data: 5\n\n", "data: \"\xff\"\n\n",
                            "data: {\"error\":{\"message\":\"no\"}}\n\n"}) {
    CAPTURE(bytes);
    StreamParser parser(a_protocol());
    parser.feed(kChunk);
    CHECK(!parser.is_hopeless());
    parser.feed(bytes);
    CHECK(parser.is_hopeless());
    CHECK(parser.feed(kChunk).empty());
  }
}

TEST_CASE("what follows the end is not looked at") {
  StreamParser parser(a_protocol());
  parser.feed(kChunk);
  parser.feed(kEnd);
  parser.feed("data: [DONE]\n\ndata: garbage\n\n");
  parser.feed(kChunk);

  const auto answer = parser.finish();

  CHECK(answer.complete);
  CHECK(answer.content == "Hi");
}

TEST_CASE("an unreadable piece behind a finish reason shows a cut") {
  StreamParser parser(a_protocol());
  parser.feed(kEnd);
  parser.feed("data: {\"usage\": {\"promp");

  CHECK(!parser.finish().complete);
}

TEST_CASE("a line of JSON that never ends is given up, however it comes") {
  const std::string endless(17U << 20U, ' ');
  StreamParser whole_line(ollama_native());
  whole_line.feed(endless + "{\"done\":true}\n");
  StreamParser pieces(ollama_native());
  pieces.feed(endless);
  pieces.feed("{\"done\":true}\n");

  CHECK(whole_line.is_hopeless());
  CHECK(pieces.is_hopeless());
  CHECK(!whole_line.finish().complete);
}

TEST_CASE("an empty stream is not complete") {
  for (const Protocol* protocol : {&chat_completions(), &completions(), &responses(),
                                   &anthropic_messages(), &gemini(), &ollama_native()}) {
    CAPTURE(protocol->name);
    CHECK(!StreamParser(*protocol).finish().complete);
  }
}

TEST_CASE("feeding tells what can be read of thoughts, and all of it together is the thinking") {
  for (const Transcript& transcript : read_streams()) {
    if (!transcript.name.contains("-thinking-")) continue;
    CAPTURE(transcript.name);
    StreamParser parser(*transcript.recording.protocol);
    std::string thinking;
    for (const char& byte : transcript.recording.body) {
      parser.feed(std::string_view(&byte, 1));
      thinking += parser.thinking();
    }

    CHECK(thinking == parser.finish().thinking);
    CHECK(!thinking.empty());
  }
}

TEST_CASE("pieces are text, reasoning, calls and their arguments") {
  StreamParser parser(a_protocol());
  const auto pieces_of = [&](std::string_view delta) {
    const std::size_t before = parser.pieces();
    parser.feed("data: {\"choices\":[{\"index\":0,\"delta\":{" + std::string(delta) + "}}]}\n\n");
    return parser.pieces() - before;
  };
  CHECK(pieces_of(R"("role":"assistant","content":"","reasoning_content":"")") == 0);
  CHECK(pieces_of(R"("reasoning_content":"Hm")") == 1);
  CHECK(pieces_of(R"("content":"Hi")") == 1);
  CHECK(pieces_of(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}])") == 1);
  CHECK(pieces_of(R"("tool_calls":[{"index":0,"function":{"arguments":"{}"}}])") == 1);
  CHECK(pieces_of("") == 0);
}

TEST_CASE("comments, pings and events that frame the answer are no pieces") {
  StreamParser parser(anthropic_messages());
  for (const char* bytes : {": keep-alive\n\n", "\n\n", kPing, kStart, kTextBlock}) {
    parser.feed(bytes);
    CHECK(parser.pieces() == 0);
  }
  parser.feed(event_of(R"({"type":"content_block_delta","index":0,)"
                       R"("delta":{"type":"text_delta","text":"Hi"}})"));
  CHECK(parser.pieces() == 1);
  CHECK(parser.thinking().empty());
}

TEST_CASE("a signature is a piece although nobody can read it") {
  StreamParser parser(anthropic_messages());
  parser.feed(event_of(R"({"type":"content_block_start","index":0,)"
                       R"("content_block":{"type":"thinking","thinking":""}})"));
  const std::size_t before = parser.pieces();
  parser.feed(event_of(R"({"type":"content_block_delta","index":0,)"
                       R"("delta":{"type":"signature_delta","signature":"s"}})"));

  CHECK(parser.pieces() == before + 1);
  CHECK(parser.thinking().empty());
}
