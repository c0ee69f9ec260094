// Answers of rounds with tools, as providers gave them, and the request that goes on from each.
#include "treaty/backends/protocols/thoughts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/protocols/stream_parser.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/json_write.h"
#include "treaty/testing/transcripts.h"

namespace treaty::backends {
namespace {

using results::Answer;
using testing::Transcript;

constexpr std::string_view kAuthor = "the model";

Transcript transcript_of(std::string_view name) {
  const auto all = testing::read_transcripts();
  const auto found = std::ranges::find(all, name, &Transcript::name);
  REQUIRE(found != all.end());
  return *found;
}

Answer answer_of(const Transcript& transcript) {
  const Recording& recording = transcript.recording;
  if (!transcript.is_stream()) return recording.protocol->parse_response(recording.body);
  StreamParser parser(*recording.protocol);
  for (const char& byte : recording.body) parser.feed(std::string_view(&byte, 1));
  return parser.finish();
}

Answer answer_of(std::string_view name) { return answer_of(transcript_of(name)); }

// A question, the answer with its thoughts, and results of its calls.
Call next_call(const Answer& answer, std::string model) {
  Call call{.model = std::move(model),
            .messages = {UserMessage{{TextPart{"Weather?"}}}},
            .tools = {{.name = "get_weather"}, {.name = "now"}},
            .author = std::string(kAuthor),
            .caches = false};
  call.messages.push_back(
      AssistantMessage{.text = answer.content,
                       .tool_calls = answer.tool_calls,
                       .thoughts = {.author = call.author, .parts = answer.thoughts}});
  for (const auto& made : answer.tool_calls) {
    call.messages.push_back(
        ToolMessage{.tool_call_id = made.id, .tool_name = made.name, .content = "8 °C"});
  }
  return call;
}

// The request that goes on from a recorded answer, as its provider gets it.
std::string next_request(std::string_view name, std::string model) {
  const Transcript transcript = transcript_of(name);
  const Provider* provider = find_provider(transcript.recording.provider);
  REQUIRE(provider != nullptr);
  return transcript.recording.protocol->render_request(
      next_call(answer_of(transcript), std::move(model)), provider->style);
}

// What a text, calls and thoughts become in their order.
std::string order_of(const AssistantMessage& message) {
  std::string order;
  each_part(
      message, message.thoughts.parts, [](const results::Thought&) { return true; },
      [&](std::string_view text) { order += fmt::format("[{}]", text); },
      [&](std::size_t call) { order += fmt::format("({})", call); },
      [&](const results::Thought& thought, bool is_last) {
        order += fmt::format("<{}{}>", thought.json, is_last ? "!" : "");
      });
  return order;
}

AssistantMessage message_with(std::vector<results::Thought> thoughts) {
  return {.text = "héllo", .tool_calls = {{}, {}}, .thoughts = {.parts = std::move(thoughts)}};
}

}  // namespace

TEST_CASE("An answer with thoughts is the same value, streamed and plain") {
  for (const char* stem : {"chat-thinking", "chat-details", "chat-chunks", "messages-thinking",
                           "gemini-thinking", "responses-thinking", "ollama-thinking"}) {
    CAPTURE(stem);
    const Answer plain = answer_of(std::string(stem) + "-plain");
    const Answer streamed = answer_of(std::string(stem) + "-stream");
    CHECK(!plain.thinking.empty());
    CHECK(!plain.thoughts.empty());
    CHECK(plain.thinking == streamed.thinking);
    CHECK(plain.content == streamed.content);
    CHECK((plain.thoughts == streamed.thoughts));
  }
}

TEST_CASE("DeepSeek gets back the reasoning of a round with tools") {
  constexpr std::string_view kReasoning =
      R"("reasoning_content":"The user asks for the \"weather\" in Zürich.\nI need the tool.",)";
  for (const char* name : {"chat-thinking-plain", "chat-thinking-stream"}) {
    const std::string request = next_request(name, "deepseek-v4-pro");
    CHECK(request.contains(fmt::format(
        R"({{"role":"assistant","content":"Let me look.",{}"tool_calls":[{{"id":"call_w")",
        kReasoning)));
  }
}

TEST_CASE("DeepSeek gets a stand-in for reasoning that it does not know, beside tools only") {
  Call call = next_call(answer_of("chat-thinking-plain"), "deepseek-v4-pro");
  const RequestStyle& style = find_provider("deepseek")->style;
  call.sends_thoughts = false;
  CHECK(render_chat_completions(call, style)
            .contains(R"("content":"Let me look.","reasoning_content":" ","tool_calls")"));
  CHECK(!render_chat_completions(call, {}).contains("reasoning_content"));
  call.tools.clear();
  CHECK(!render_chat_completions(call, style).contains("reasoning_content"));
}

TEST_CASE("Anthropic gets back its blocks, each at its place and byte for byte") {
  for (const char* name : {"messages-thinking-plain", "messages-thinking-stream"}) {
    CHECK(
        next_request(name, "claude-opus-5")
            .contains(
                R"({"role":"assistant","content":[)"
                R"({"type":"thinking","thinking":"Brief: \"look\" first.\nThen tell.",)"
                R"("signature":"EoQDCm0IDhgCKkCD+/zGs2kL2Pg=="},)"
                R"({"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"},)"
                R"({"type":"text","text":"Ich sehe nach."},)"
                R"({"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Zürich"}},)"
                R"({"type":"thinking","thinking":"","signature":"EtABCkYICxgCKkCV=="},)"
                R"({"type":"tool_use","id":"toolu_2","name":"now","input":{}}]})"));
  }
}

TEST_CASE("Gemini gets back each signature on the part that it came on, and no readable thought") {
  for (const char* name : {"gemini-thinking-plain", "gemini-thinking-stream"}) {
    const std::string request = next_request(name, "gemini-3-pro-preview");
    CHECK(request.contains(R"({"role":"model","parts":[{"text":"Ich sehe"},)"
                           R"({"text":" nach.","thoughtSignature":"AY89a19ThQ8V=="},)"
                           R"({"functionCall":{"name":"get_weather","args":{"city":"Zürich"}},)"
                           R"("thoughtSignature":"CiQBcsjafM3u//I6=="},)"
                           R"({"functionCall":{"name":"now","args":{}}}]})"));
    CHECK(!request.contains("Looking"));
  }
}

TEST_CASE(
    "Gemini behind Chat Completions gets back the signatures of its calls, each on its call") {
  constexpr std::string_view kCalls =
      R"({"index":0,"id":"a","type":"function","function":{"name":"now","arguments":"{}"}},)"
      R"({"index":1,"id":"b","type":"function","function":{"name":"now","arguments":"{}"},)"
      R"("extra_content":{"google":{"thought_signature":"c2ln+/=="}}})";
  const auto body = [&](std::string_view member) {
    return fmt::format(R"({{"choices":[{{"{}":{{"content":"Hi.","tool_calls":[{}]}},)"
                       R"("finish_reason":"tool_calls"}}]}})",
                       member, kCalls);
  };
  const Answer plain = chat_completions().parse_response(body("message"));
  StreamParser parser(chat_completions());
  parser.feed(http::event_bytes("", body("delta")));
  CHECK((parser.finish().thoughts == plain.thoughts));

  const RequestStyle& style = find_provider("custom")->style;
  Call call = next_call(plain, "gemini-3-pro-preview");
  const std::string request = render_chat_completions(call, style);
  CHECK(
      request.contains(R"({"id":"a","type":"function","function":{"name":"now","arguments":"{}"}},)"
                       R"({"id":"b","type":"function","function":{"name":"now","arguments":"{}"},)"
                       R"("extra_content":{"google":{"thought_signature":"c2ln+/=="}}}])"));
  const auto received = parse_request(chat_completions(), request, {});
  REQUIRE(received);
  CHECK(render_chat_completions(received->call, {}) == request);
  call.author = "another model";
  CHECK(!render_chat_completions(call, style).contains("extra_content"));
}

TEST_CASE("Gemini gets back a signed text behind the call that it came behind") {
  const std::string parts =
      R"([{"text":"I look."},{"functionCall":{"name":"now","args":{}},"thoughtSignature":"YQ=="},)"
      R"({"text":" Wait, é.","thoughtSignature":"Yg=="},)"
      R"({"functionCall":{"name":"now","args":{}}}])";
  const Answer answer = gemini().parse_response(fmt::format(
      R"({{"candidates":[{{"content":{{"parts":{}}},"finishReason":"STOP"}}]}})", parts));
  CHECK(render_gemini(next_call(answer, "gemini-3-pro-preview"), {})
            .contains(fmt::format(R"({{"role":"model","parts":{}}})", parts)));
}

TEST_CASE("Gemini gets back a thought that can be read if it came signed") {
  constexpr std::string_view kPart = R"({"text":"Hm.","thought":true,"thoughtSignature":"c2ln"})";
  const std::string body =
      fmt::format(R"({{"candidates":[{{"content":{{"parts":[{{"text":"A "}},{},{{"text":"B"}}],)"
                  R"("role":"model"}},"finishReason":"STOP"}}]}})",
                  kPart);
  const Answer plain = gemini().parse_response(body);
  StreamParser parser(gemini());
  parser.feed(http::event_bytes("", body));
  CHECK((parser.finish().thoughts == plain.thoughts));

  const std::string request = render_gemini(next_call(plain, "gemini-3-pro-preview"), {});
  CHECK(request.contains(fmt::format(R"("parts":[{{"text":"A "}},{},{{"text":"B"}}])", kPart)));
}

TEST_CASE("Responses gets back its reasoning items before what they led to") {
  for (const char* name : {"responses-thinking-plain", "responses-thinking-stream"}) {
    const std::string request = next_request(name, "gpt-5.4");
    CHECK(request.contains(
        R"({"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABow1Cb+/x==",)"
        R"("summary":[{"type":"summary_text","text":"**Looking**\n\nI need the tool."},)"
        R"({"type":"summary_text","text":"Then I tell."}]},)"
        R"({"role":"assistant","content":"Ich sehe nach."},)"
        R"({"id":"rs_2","type":"reasoning","encrypted_content":"gAAAAABqPBGp==","summary":[]},)"
        R"({"type":"function_call","call_id":"call_w","name":"get_weather",)"));
    CHECK(request.contains(R"("include":["reasoning.encrypted_content"],"store":false)"));
  }
}

TEST_CASE("OpenRouter gets back the details, which hold the text") {
  for (const char* name : {"chat-details-plain", "chat-details-stream"}) {
    const std::string request = next_request(name, "anthropic/claude-haiku-4.5");
    CHECK(request.contains(R"("reasoning_details":[{"type":"reasoning.text",)"));
    CHECK(request.contains(R"("data":"EjQKMgEM")"));
    CHECK(request.contains(R"("signature":"EqQB")"));
    CHECK(!request.contains(R"("reasoning":)"));
  }
}

TEST_CASE("DeepSeek behind OpenRouter gets the text of the details as reasoning_content, too") {
  for (const char* name : {"chat-details-plain", "chat-details-stream"}) {
    const std::string request = next_request(name, "deepseek/deepseek-v4-pro");
    CHECK(request.contains(R"("reasoning_details":[{"type":"reasoning.text",)"));
    CHECK(request.contains(R"(],"reasoning_content":"I need the tool.",)"));
  }
}

TEST_CASE("DeepSeek behind OpenRouter gets a text as reasoning_content, or the stand-in") {
  const RequestStyle& style = find_provider("openrouter")->style;
  const auto asked = [&](std::string model, std::string thought) {
    Answer answer{.content = "Let me look.", .tool_calls = {{"call_w", "now", "{}"}}};
    answer.thoughts.push_back({.json = std::move(thought)});
    return render_chat_completions(next_call(answer, std::move(model)), style);
  };
  CHECK(asked("DeepSeek/r2", R"({"reasoning":"Hm.\u00e9"})")
            .contains(R"("content":"Let me look.","reasoning_content":"Hm.\u00e9","tool_calls")"));
  CHECK(asked("deepseek/r2", R"({"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]})")
            .contains(R"("data":"x"}],"reasoning_content":" ","tool_calls")"));
  CHECK(asked("deepseek/r2", "{}").contains(R"("reasoning_content":" ")"));
  CHECK(asked("qwen/qwen3", R"({"reasoning":"Hm."})").contains(R"("reasoning":"Hm.")"));
  CHECK(!asked("qwen/qwen3", "{}").contains("reasoning"));
}

TEST_CASE("Mistral and Ollama get back thoughts as they write them") {
  for (const char* name : {"chat-chunks-plain", "chat-chunks-stream"}) {
    CHECK(next_request(name, "magistral-medium-2509")
              .contains(R"("content":[{"type":"thinking","thinking":[{"type":"text",)"
                        R"("text":"It \"rains\"."}]},{"type":"text","text":"Rainy."}])"));
  }
  for (const char* name : {"ollama-thinking-plain", "ollama-thinking-stream"}) {
    CHECK(
        next_request(name, "qwen3").contains(R"("content":"Rainy.","thinking":"It \"rains\"."})"));
  }
}

TEST_CASE("Thoughts go back to their author only, and not once they were refused") {
  for (const char* name : {"chat-thinking-plain", "messages-thinking-plain",
                           "gemini-thinking-plain", "responses-thinking-plain"}) {
    CAPTURE(name);
    const Transcript transcript = transcript_of(name);
    const Answer answer = answer_of(transcript);
    const auto render = transcript.recording.protocol->render_request;
    Call call = next_call(answer, "m");
    const std::string with = render(call, {});
    call.sends_thoughts = false;
    const std::string without = render(call, {});
    CHECK(without.size() < with.size());
    call.sends_thoughts = true;
    call.author = "another model";
    CHECK(render(call, {}) == without);
    call.author = "";
    CHECK(render(call, {}) == without);
  }
}

TEST_CASE("Providers that refuse members that they do not know get no thoughts in messages") {
  const Call call = next_call(answer_of("chat-thinking-plain"), "m");

  CHECK(!render_chat_completions(call, find_provider("huggingface")->style).contains("reasoning"));
  CHECK(!render_chat_completions(call, find_provider("together")->style).contains("reasoning"));
  CHECK(render_chat_completions(call, find_provider("cerebras")->style).contains("reasoning"));
}

TEST_CASE("A thought that nothing follows is left out where an answer must not end with one") {
  const Answer answer{
      .content = "Hi.",
      .thoughts = {{.text = 3, .json = R"({"type":"reasoning","encrypted_content":"x"})"},
                   {.text = 3, .json = R"({"type":"thinking","thinking":"x"})"}}};
  const Call call = next_call(answer, "m");

  CHECK(!render_anthropic_messages(call, {}).contains("thinking"));
  CHECK(!render_responses(call, {}).contains("reasoning"));
}

TEST_CASE("Text, calls and thoughts come in the order in which the model made them") {
  CHECK(order_of(message_with({})) == "[héllo](0)(1)");
  CHECK(order_of(message_with({{.json = "a"}, {.text = 1, .calls = 1, .json = "b"}})) ==
        "<a>[h](0)<b>[éllo](1)");
  CHECK(order_of(message_with({{.text = 6, .calls = 2, .json = "a"}})) == "[héllo](0)(1)<a!>");
}

TEST_CASE("Places that a message does not have, or inside of a character, do no harm") {
  CHECK(order_of(message_with({{.text = 2, .json = "a"}})) == "[h]<a>[éllo](0)(1)");
  CHECK(order_of(message_with({{.text = 99, .calls = 99, .json = "a"}, {.json = "b"}})) ==
        "[héllo](0)(1)<a!><b!>");
  CHECK(character_begin("\x80\x80", 1) == 0);
  CHECK(character_begin("", 5) == 0);
}

TEST_CASE("What is no object, no UTF-8 or half a character is not sent as a thought") {
  for (const char* json :
       {"", "not json", "[1]", R"({"type":"thinking","thinking":"a\ud83d b"})",
        "{\"thinking\":\"\n\"}", "{\"type\":\"thinking\",\"thinking\":\"\xff\"}"}) {
    CAPTURE(json);
    CHECK(!can_go_back({{{.json = json}}}));
  }
}

TEST_CASE("A thought goes back byte for byte, however odd its JSON is") {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  for (const std::string& odd :
       {std::string(R"("n":1.0e400)"), std::string(R"("thinking":"t")"), "\"n\":" + deep}) {
    CAPTURE(odd);
    const std::string block = R"({"type":"thinking","thinking":"t",)" + odd + "}";
    const Answer answer = anthropic_messages().parse_response(
        fmt::format(R"({{"content":[{},{{"type":"tool_use","id":"a","name":"now","input":{{}}}}],)"
                    R"("stop_reason":"tool_use"}})",
                    block));
    CHECK(can_go_back(answer.thoughts));
    CHECK(render_anthropic_messages(next_call(answer, "claude-opus-5"), {}).contains(block));
  }
}

TEST_CASE("A text of reasoning goes back without what is no character") {
  const Answer answer = chat_completions().parse_response(
      R"({"choices":[{"message":{"content":"Hi.","reasoning_content":"a\ud83d b"}}]})");
  CHECK(can_go_back(answer.thoughts));
  CHECK(render_chat_completions(next_call(answer, "m"), {})
            .contains("\"reasoning_content\":\"a\uFFFD b\""));
}

TEST_CASE("Thoughts of five megabytes are read and sent in one piece, in linear time") {
  constexpr std::size_t kPieces = 50'000;
  const std::string piece(100, 'x');
  StreamParser parser(anthropic_messages());
  parser.feed(http::event_bytes("", R"({"type":"content_block_start","index":0,)"
                                    R"("content_block":{"type":"thinking","thinking":""}})"));
  const std::string event = http::event_bytes(
      "", R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",)"
          R"("thinking":")" +
              piece + "\"}}");
  for (std::size_t i = 0; i < kPieces; ++i) parser.feed(event);
  parser.feed(http::event_bytes("", R"({"type":"message_stop"})"));
  Answer answer = parser.finish();

  REQUIRE(answer.complete);
  CHECK(answer.thinking.size() == kPieces * piece.size());
  answer.content = "Well.";
  CHECK(render_anthropic_messages(next_call(answer, "m"), {}).size() > kPieces * piece.size());
}

TEST_CASE("An answer that thinks without end is given up") {
  const std::string event = http::event_bytes("", R"({"choices":[{"delta":{"reasoning_content":")" +
                                                      std::string(1U << 20U, 'x') + "\"}}]}");
  StreamParser parser(chat_completions());
  for (int i = 0; i < 20 && !parser.is_hopeless(); ++i) parser.feed(event);

  CHECK(parser.is_hopeless());
  CHECK(!parser.finish().complete);
  const std::string body = R"({"choices":[{"message":{"reasoning":")" +
                           std::string(13U << 20U, 'x') + R"(","content":"a"}}]})";
  CHECK(!chat_completions().parse_response(body).complete);
}

TEST_CASE("An object that comes in pieces is put together") {
  JoinedObject object;
  for (const char* piece : {R"({"type":"a","text":"x\"","n":1})", R"({"text":"y","n":2,"id":null})",
                            R"({"text":null,"signature":"s"})"}) {
    const json::Document document(piece);
    object.join(*document.root(), {"text"});
  }

  CHECK(object.json() == R"({"type":"a","text":"x\"y","n":2,"id":null,"signature":"s"})");
  CHECK(object.text("text") == "x\"y");
  CHECK(object.text("n").empty());
}

}  // namespace treaty::backends
