#include "treaty/testing/calls.h"

#include "treaty/testing/generators.h"

namespace treaty::testing {
namespace {

using namespace backends;

std::string some_json() {
  return *rc::gen::element<std::string>(R"({"a": [1, 2.5, null]})", "{}", "", "not json", "[1]",
                                        R"({"a":1,"a":2})", R"({"n":1e999})", "\"text\"",
                                        R"({"cut":)", "\xff\xfe", std::string(200, '['));
}

std::string some_call_id() {
  return *rc::gen::element<std::string>("", "call_1", "call_2", "call 1", "toolu_01A", "a.b", "a b",
                                        "x|y", std::string(100, 'k'), "\xc3\xa9", "abcDEF123");
}

Message some_user_message() {
  UserMessage message;
  const int parts = *rc::gen::inRange(0, 3);
  for (int i = 0; i < parts; ++i) {
    if (*rc::gen::arbitrary<bool>()) {
      message.parts.emplace_back(TextPart{*any_text()});
    } else {
      message.parts.emplace_back(ImagePart{"image/png", "iVBORw0KGgo="});
    }
  }
  return message;
}

constexpr std::string_view kAuthor = "somebody";

// Of any protocol, or of none, at any place, which the message need not have.
results::Thought some_thought() {
  return {.text = *rc::gen::inRange<std::size_t>(0, 20),
          .calls = *rc::gen::inRange<std::size_t>(0, 5),
          .json = *rc::gen::element<std::string>(
              R"({"type":"thinking","thinking":"so \u00e9 \n","signature":"EqA="})",
              R"({ "type" : "redacted_thinking", "data" : "EmwK" })",
              R"({"type":"thinking","thinking":[{"type":"text","text":"hm"}]})",
              R"({"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"})",
              R"({"thoughtSignature":"Cs=="})", R"({"text":"","thoughtSignature":"Ct=="})",
              R"({"functionCall":{},"thoughtSignature":"Cu=="})", R"({"thoughtSignature":5})",
              R"({"reasoning_content":"I \"see\""})", R"({"reasoning":"well"})",
              R"({"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]})",
              R"({"reasoning_details":[)", R"({"thinking":"hm"})", R"({"thinking":{}})",
              R"({"role":"user","content":"x"})", R"({"type":"thinking","type":"text"})", "",
              "not json", "[1]", "{\"type\":\"thinking\",\"thinking\":\"\xff\"}",
              std::string(200, '['))};
}

Thoughts some_thoughts() {
  Thoughts thoughts{.author = *rc::gen::element<std::string>(std::string(kAuthor), "another", "")};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) thoughts.parts.push_back(some_thought());
  return thoughts;
}

std::optional<Reasoning> some_reasoning() {
  Reasoning reasoning;
  if (*rc::gen::arbitrary<bool>()) {
    reasoning.effort =
        *rc::gen::element(Effort::minimal, Effort::low, Effort::medium, Effort::high);
  }
  if (*rc::gen::arbitrary<bool>()) reasoning.budget_tokens = *rc::gen::inRange(0, 100'000);
  return reasoning;
}

void append_tool_turn(Messages& messages) {
  AssistantMessage assistant{.text = *any_text(), .thoughts = some_thoughts()};
  const int calls = *rc::gen::inRange(0, 4);
  for (int i = 0; i < calls; ++i) {
    assistant.tool_calls.push_back({some_call_id(), "look_up", some_json()});
  }
  messages.push_back(assistant);
  for (const contracts::AgentToolCall& call : assistant.tool_calls) {
    messages.push_back(ToolMessage{.tool_call_id = call.id,
                                   .tool_name = call.name,
                                   .content = *any_text(),
                                   .failed = *rc::gen::arbitrary<bool>()});
  }
}

}  // namespace

Call simple_call() {
  return {.model = "small-1", .messages = {UserMessage{{TextPart{"Say \"hi\"."}}}}};
}

Call conversation() {
  return {.model = "small-1",
          .system = "Be brief.",
          .messages = {UserMessage{{TextPart{"What is it?"}, ImagePart{"image/png", "iVBOR="}}},
                       AssistantMessage{.text = "Let me look. ",
                                        .tool_calls = {{"call_1", "look_up", R"({"word": "cat"})"},
                                                       {"call.2", "look_up", "dog"}}},
                       ToolMessage{.tool_call_id = "call_1",
                                   .tool_name = "look_up",
                                   .content = R"({"found": 3})"},
                       ToolMessage{.tool_call_id = "call.2",
                                   .tool_name = "look_up",
                                   .content = "no such word",
                                   .failed = true},
                       UserMessage{{TextPart{"Well?"}}}},
          .tools = {{.name = "look_up",
                     .description = "Finds a word.",
                     .parameters_json =
                         R"({"type": "object", "properties": {"word": {"type": "string"}}})"}}};
}

rc::Gen<Call> any_call() {
  return rc::gen::exec([] {
    Call call{.model = "m" + *any_text(), .system = *any_text()};
    const int turns = *rc::gen::inRange(1, 5);
    for (int i = 0; i < turns; ++i) {
      call.messages.push_back(some_user_message());
      append_tool_turn(call.messages);
    }
    if (*rc::gen::arbitrary<bool>()) call.tools = {{"look_up", *any_text(), some_json()}};
    if (*rc::gen::arbitrary<bool>()) call.output = OutputSchema{.schema_json = some_json()};
    if (*rc::gen::arbitrary<bool>()) call.temperature = *rc::gen::arbitrary<double>();
    if (*rc::gen::arbitrary<bool>()) call.sampling.top_p = *rc::gen::arbitrary<double>();
    if (*rc::gen::arbitrary<bool>()) call.sampling.seed = *rc::gen::arbitrary<std::int64_t>();
    if (*rc::gen::arbitrary<bool>()) call.max_output_tokens = *rc::gen::inRange(1, 100'000);
    if (*rc::gen::arbitrary<bool>()) call.stop = {*any_text()};
    if (*rc::gen::arbitrary<bool>()) call.reasoning = some_reasoning();
    if (*rc::gen::arbitrary<bool>()) call.author = kAuthor;
    if (*rc::gen::arbitrary<bool>()) call.conversation = *any_text();
    call.sends_thoughts = *rc::gen::inRange(0, 4) > 0;
    call.shows_thinking = *rc::gen::arbitrary<bool>();
    call.caches = *rc::gen::arbitrary<bool>();
    call.stream = *rc::gen::arbitrary<bool>();
    return call;
  });
}

}  // namespace treaty::testing
