// What holds of every protocol's requests, whatever the call.
#include <doctest/doctest.h>

#include <array>
#include <set>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/testing/calls.h"

namespace treaty::backends {
namespace {

using Render = std::string (*)(const Call&, const RequestStyle&);

constexpr std::array<Render, 6> kRenderers = {render_chat_completions,   render_completions,
                                              render_responses,          render_gemini,
                                              render_anthropic_messages, render_ollama};

// Every string that stands under `name`, anywhere below `value`.
void collect(json::Value value, std::string_view name, std::vector<std::string>& out) {
  if (value.is_array()) {
    for (const json::Value element : value.elements()) collect(element, name, out);
  } else if (value.is_object()) {
    for (const json::Member member : value.members()) {
      if (member.name.text() == name && member.value.is_string()) {
        out.emplace_back(member.value.text());
      }
      collect(member.value, name, out);
    }
  }
}

std::vector<std::string> all_of(const std::string& body, std::string_view name) {
  const json::Document document(body);
  std::vector<std::string> out;
  if (document.root()) collect(*document.root(), name, out);
  return out;
}

std::size_t calls_in(const Call& call) {
  std::size_t count = 0;
  for (const Message& message : call.messages) {
    if (const auto* assistant = std::get_if<AssistantMessage>(&message)) {
      count += assistant->tool_calls.size();
    }
  }
  return count;
}

}  // namespace

TEST_CASE("every request is valid JSON and UTF-8, whatever the call holds") {
  CHECK(rc::check([] {
    Call call = *testing::any_call();
    // What a model thought may repeat names or have huge numbers; nothing else may.
    for (const bool has_thoughts : {call.sends_thoughts, false}) {
      call.sends_thoughts = has_thoughts;
      for (const Render render : kRenderers) {
        const std::string body = render(call, {});
        const json::Document document(body, {.grammar_only = has_thoughts});
        RC_ASSERT(is_utf8(body));
        RC_ASSERT(document.faults().empty());
        RC_ASSERT(document.root()->is_object());
      }
    }
  }));
}

TEST_CASE("rendering twice gives the same bytes") {
  CHECK(rc::check([] {
    const Call call = *testing::any_call();
    for (const Render render : kRenderers) RC_ASSERT(render(call, {}) == render(call, {}));
  }));
}

TEST_CASE("every tool call has an id of its own, and its result names that id") {
  CHECK(rc::check([] {
    const Call call = *testing::any_call();
    const std::size_t count = calls_in(call);

    for (const bool nine : {false, true}) {
      const std::string chat = render_chat_completions(call, {.short_tool_call_ids = nine});
      const std::vector<std::string> ids = all_of(chat, "id");
      RC_ASSERT(std::set<std::string>(ids.begin(), ids.end()).size() == count);
      RC_ASSERT(all_of(chat, "tool_call_id") == ids);
    }
    const std::string messages = render_anthropic_messages(call, {});
    const std::vector<std::string> ids = all_of(messages, "id");
    RC_ASSERT(std::set<std::string>(ids.begin(), ids.end()).size() == count);
    RC_ASSERT(all_of(messages, "tool_use_id") == ids);
    for (const std::string& id : ids) {
      RC_ASSERT(!id.empty() && id.size() <= 64);
      for (const char c : id) RC_ASSERT(is_alphanumeric(c) || c == '_' || c == '-');
    }
    const std::vector<std::string> twice = all_of(render_responses(call, {}), "call_id");
    RC_ASSERT(twice.size() == 2 * count);
    RC_ASSERT(std::set<std::string>(twice.begin(), twice.end()).size() == count);
  }));
}

TEST_CASE("Anthropic and Gemini see roles that take turns") {
  CHECK(rc::check([] {
    const Call call = *testing::any_call();
    for (const Render render : {render_anthropic_messages, render_gemini}) {
      const std::vector<std::string> roles = all_of(render(call, {}), "role");
      for (std::size_t i = 1; i < roles.size(); ++i) RC_ASSERT(roles[i] != roles[i - 1]);
    }
  }));
}

TEST_CASE(
    "sampling is written under the names that a protocol has, and left out where it has none") {
  const Call call{.model = "m",
                  .sampling = {.top_p = 0.5,
                               .top_k = 7,
                               .frequency_penalty = 0.25,
                               .presence_penalty = -1.5,
                               .seed = 42}};
  const auto body_has = [&call](Render render, std::string_view text) {
    return render(call, {}).contains(text);
  };
  constexpr std::string_view kPenalties =
      R"("frequency_penalty":0.25,"presence_penalty":-1.5,"seed":42)";

  CHECK(body_has(render_chat_completions, R"("top_p":0.5,)"));
  CHECK(body_has(render_chat_completions, kPenalties));
  CHECK(!body_has(render_chat_completions, "top_k"));
  CHECK(body_has(render_completions, kPenalties));
  CHECK(body_has(render_responses, R"("top_p":0.5)"));
  CHECK(!body_has(render_responses, "seed"));
  CHECK(body_has(render_anthropic_messages, R"("top_p":0.5,"top_k":7)"));
  CHECK(!body_has(render_anthropic_messages, "penalty"));
  CHECK(body_has(render_gemini,
                 R"("generationConfig":{"topP":0.5,"topK":7,"frequencyPenalty":0.25,)"
                 R"("presencePenalty":-1.5,"seed":42})"));
  CHECK(body_has(render_ollama, R"("options":{"top_p":0.5,"top_k":7,)"));
  CHECK(body_has(render_ollama, kPenalties));
}

namespace {

// Gemini names the model and the stream in its path.
Call read_back(const Protocol& protocol, const std::string& body, const Call& call) {
  const bool in_path = protocol.path_of_call != nullptr;
  auto request =
      parse_request(protocol, body, {.model = call.model, .stream = in_path && call.stream});
  REQUIRE(request);
  return std::move(request->call);
}

}  // namespace

TEST_CASE("a request that is read and rendered again is the same request, in every protocol") {
  CHECK(rc::check([] {
    const Call any = *testing::any_call();
    Call call = any;
    call.model = "m1";  // A model's odd bytes are the path's business.
    call.messages = {
        UserMessage{{TextPart{"Hello."}}}};  // Providers refuse a call that says nothing.
    for (const Message& message : any.messages) call.messages.push_back(message);
    if (call.output) call.output->schema_json = R"({"type":"object"})";
    for (const Protocol* protocol : all_protocols()) {
      RC_LOG() << protocol->name;
      const std::string body = protocol->render_request(call, {});
      RC_ASSERT(protocol->render_request(read_back(*protocol, body, call), {}) == body);
    }
  }));
}

TEST_CASE("a conversation is read back from Chat Completions as it was") {
  Call call = testing::conversation();
  call.output =
      OutputSchema{.name = "word", .schema_json = R"({"type":"object"})", .strict = false};
  call.max_output_tokens = 7;
  call.temperature = 0.5;
  call.sampling = {.top_p = 0.25, .presence_penalty = 1.5, .seed = 3};
  call.stop = {"END"};
  call.stream = true;
  const Call read = read_back(chat_completions(), render_chat_completions(call, {}), call);

  CHECK(read.model == call.model);
  CHECK(read.system == call.system);
  REQUIRE(read.messages.size() == call.messages.size());
  CHECK((read.messages[0] == call.messages[0]));
  CHECK((read.messages[1] == call.messages[1]));
  CHECK(std::get<ToolMessage>(read.messages[3]).content ==
        "Error: the tool call failed: no such word");
  CHECK(std::get<ToolMessage>(read.messages[3]).tool_call_id == "call.2");
  CHECK((read.messages[4] == call.messages[4]));
  REQUIRE(read.tools.size() == 1);
  CHECK(read.tools[0].name == "look_up");
  CHECK(read.tools[0].description == "Finds a word.");
  CHECK((read.output == call.output));
  CHECK(read.max_output_tokens == 7);
  CHECK(read.temperature == 0.5);
  CHECK((read.sampling == call.sampling));
  CHECK(read.stop == call.stop);
  CHECK(read.stream);
}

TEST_CASE("what was said, images and results are read back from every protocol with messages") {
  const Call call = testing::conversation();
  for (const Protocol* protocol : all_protocols()) {
    if (protocol == &completions()) continue;
    CAPTURE(protocol->name);
    const Call read = read_back(*protocol, protocol->render_request(call, {}), call);
    CHECK(read.system == call.system);
    REQUIRE(read.messages.size() == call.messages.size());
    CHECK(joined_text(std::get<UserMessage>(read.messages[0])) == "What is it?");
    const auto& image = std::get<ImagePart>(std::get<UserMessage>(read.messages[0]).parts.at(1));
    CHECK(image.base64 == "iVBOR=");
    const auto& assistant = std::get<AssistantMessage>(read.messages[1]);
    CHECK(trimmed(assistant.text) == "Let me look.");
    REQUIRE(assistant.tool_calls.size() == 2);
    CHECK(assistant.tool_calls[0].name == "look_up");
    CHECK(std::get<ToolMessage>(read.messages[3]).content.contains("no such word"));
    CHECK((read.messages[4] == call.messages[4]));
    REQUIRE(read.tools.size() == 1);
    CHECK(read.tools[0].parameters_json.contains(R"("word")"));
  }
}

TEST_CASE("a failed result is marked as a failure in every protocol") {
  Call call = testing::simple_call();
  call.messages.push_back(AssistantMessage{.tool_calls = {{"a", "look", "{}"}}});
  Call good = call;
  good.messages.push_back(ToolMessage{"a", "look", "gone"});
  Call bad = call;
  bad.messages.push_back(ToolMessage{"a", "look", "gone", true});

  for (const Render render : kRenderers) {
    const std::string marked = render(bad, {});
    CHECK(marked.contains("rror"));  // "Error: …", "error" or "is_error".
    CHECK(marked.contains("gone"));
    CHECK(!render(good, {}).contains("rror"));
  }
}

TEST_CASE("a request that a provider would refuse is refused in its words") {
  CHECK(parse_request(chat_completions(), "", {}).error().starts_with("We could not parse"));
  CHECK(parse_request(chat_completions(), "[]", {}).error() ==
        "The JSON body of your request is no object.");
  CHECK(parse_request(responses(), "{}", {}).error() == "you must provide a model parameter");
  CHECK(parse_request(anthropic_messages(), "{}", {}).error() == "model: Field required");
  CHECK(parse_request(anthropic_messages(), R"({"model":"m"})", {}).error() ==
        "max_tokens: Field required");
  CHECK(parse_request(completions(), R"({"model":"m"})", {}).error() ==
        "Missing required parameter: 'prompt'.");
  CHECK(parse_request(gemini(), "{}", {.model = "m"}).error() ==
        "* GenerateContentRequest.contents: contents is not specified");
}

TEST_CASE("OpenAI is held to a schema of objects only, and told others in words") {
  const auto asked = [](std::string_view provider, const Protocol& protocol, std::string schema) {
    Call call = testing::simple_call();
    call.output = OutputSchema{.schema_json = std::move(schema)};
    return protocol.render_request(call, find_provider(provider)->style);
  };
  for (const std::string_view provider : {"openai", "azure", "openrouter"}) {
    for (const Protocol* protocol : {&chat_completions(), &responses()}) {
      CHECK(asked(provider, *protocol, R"({"type":"object"})").contains("json_schema"));
      for (const char* schema : {R"({"type":"array","items":{}})", R"({"type":["object","null"]})",
                                 R"({"anyOf":[{"type":"object"},{"type":"null"}]})",
                                 R"({"$ref":"#/$defs/a"})", R"({"enum":[1]})"}) {
        CAPTURE(schema);
        const std::string request = asked(provider, *protocol, schema);
        CHECK(request.contains("Answer with one JSON value that fits this JSON Schema"));
        CHECK(!request.contains("json_schema"));
        CHECK(!request.contains("json_object"));
      }
      for (const char* schema : {R"({"properties":{"a":{}}})", R"({"type":["object"]})", "{}",
                                 R"({"anyOf":[{"type":"object"},{"properties":{}}]})"}) {
        CAPTURE(schema);
        const std::string request = asked(provider, *protocol, schema);
        CHECK(request.contains("Answer with one JSON object that fits this JSON Schema"));
        CHECK(!request.contains("json_schema"));
        CHECK(request.contains("json_object"));
      }
    }
  }
  CHECK(asked("vllm", chat_completions(), R"({"type":"array"})").contains("json_schema"));
  CHECK(!asked("deepseek", chat_completions(), R"({"type":"array"})").contains("json_object"));
}

}  // namespace treaty::backends
