#include "treaty/backends/flatagent/render_flat_agent.h"

#include <doctest/doctest.h>

#include "treaty/backends/flatagent/read_flat_agent.h"

namespace treaty::backends {
namespace {

using contracts::AgentResult;

FlatAgent agent_of(std::string_view yaml) {
  const auto document = parse_document(yaml);
  REQUIRE(document);
  auto agent = read_flat_agent(*document, {.directory = "/", .read_text = [](const std::string&) {
                                             return Read<std::string>(Wrong("no"));
                                           }});
  INFO((agent ? "" : agent.error()));
  REQUIRE(agent);
  return *std::move(agent);
}

Call call_of(const FlatAgent& agent, const Dynamic& input = Object{}, const List& chain = {},
             bool without_tools = false) {
  auto call = render(agent, {.input = input, .chain = chain, .without_tools = without_tools});
  INFO((call ? "" : call.error()));
  REQUIRE(call);
  return *std::move(call);
}

std::string user_text(const Message& message) {
  std::string text;
  for (const Part& part : std::get<UserMessage>(message).parts) {
    text += std::get<TextPart>(part).text + "|";
  }
  return text;
}

AgentResult said(std::string text) {
  AgentResult result;
  result.content = std::move(text);
  result.finish_reason = "stop";
  return result;
}

TEST_CASE("Prompts are rendered over the input; what is not there is empty") {
  const FlatAgent agent = agent_of(R"(
data:
  model: {provider: openai, name: m1, temperature: 0.5, max_tokens: 9}
  system: "You are {{ input.role | default('nobody') }} on {{ model.name }}."
  user: |
    {% for t in input.topics %}- {{ t }}
    {% endfor %}{{ input.missing }}.
)");

  const Call call = call_of(agent, Object{{"role", "a poet"}, {"topics", List{"rain", 3, true}}});

  CHECK(call.model == "m1");
  CHECK(call.temperature == 0.5);
  CHECK(call.max_output_tokens == 9);
  CHECK(call.system == "You are a poet on m1.");
  REQUIRE(call.messages.size() == 1);
  CHECK(user_text(call.messages[0]) == "- rain\n- 3\n- True\n.|");
}

TEST_CASE("A prompt without a template is sent as it is, even one that looks like a reference") {
  const FlatAgent agent = agent_of("data: {user: input.text}");

  CHECK(user_text(call_of(agent, Object{{"text", "x"}}).messages[0]) == "input.text|");
  CHECK(call_of(agent).system == "You are a helpful assistant.");
}

TEST_CASE("A template that cannot be rendered names the prompt") {
  const FlatAgent agent = agent_of("data: {user: '{{ input.a.b.c }}'}");
  const Dynamic input = Object{};
  const List chain;

  const auto call = render(agent, {.input = input, .chain = chain});

  REQUIRE(!call);
  CHECK(call.error().starts_with("`user`: "));
}

TEST_CASE("What was said in a tool loop follows the first prompt") {
  const FlatAgent agent =
      agent_of("data: {user: go, tools: [{name: f}], output: {a: {type: str}}}");
  const List chain = {
      Object{{"role", "assistant"},
             {"content", "Let me see."},
             {"tool_calls", List{Object{{"id", "c1"}, {"name", "f"}, {"arguments", "{\"x\":1}"}}}}},
      Object{{"role", "tool"},
             {"tool_call_id", "c1"},
             {"name", "f"},
             {"content", "broken"},
             {"is_error", true}},
      Object{{"role", "user"}, {"content", "hurry"}}};

  const Call call = call_of(agent, Object{}, chain);

  REQUIRE(call.messages.size() == 4);
  CHECK(user_text(call.messages[0]) == "go|");
  const auto& assistant = std::get<AssistantMessage>(call.messages[1]);
  CHECK(assistant.text == "Let me see.");
  REQUIRE(assistant.tool_calls.size() == 1);
  CHECK(assistant.tool_calls[0].arguments == "{\"x\":1}");
  const auto& tool = std::get<ToolMessage>(call.messages[2]);
  CHECK(tool.tool_call_id == "c1");
  CHECK(tool.tool_name == "f");
  CHECK(tool.failed);
  CHECK(user_text(call.messages[3]) == "hurry|");
  CHECK(call.tools.size() == 1);
  CHECK(!call.output);
  const Call last = call_of(agent, Object{}, chain, true);
  CHECK(last.tools.empty());
  CHECK(last.output);
}

TEST_CASE("Instructions after the history go with the newest message of the user's side") {
  const FlatAgent agent =
      agent_of("data: {user: go, post_history_instructions: 'stay {{ input.mood }}'}");
  const Dynamic input = Object{{"mood", "calm"}};
  const Object assistant = {{"role", "assistant"}, {"content", "hm"}};
  const Object tool = {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "42"}};

  CHECK(user_text(call_of(agent, input).messages[0]) == "go|System:\n\nstay calm|");
  const Call after_tool = call_of(agent, input, {assistant, tool});
  CHECK(std::get<ToolMessage>(after_tool.messages[2]).content == "42\n\nSystem:\n\nstay calm");
  const Call after_assistant = call_of(agent, input, {assistant});
  CHECK(user_text(after_assistant.messages[2]) == "System:\n\nstay calm|");
}

TEST_CASE("A text that fits is the output, also inside a fence, and stays the content") {
  const FlatAgent agent = agent_of("data: {user: go, output: {score: {type: int}}}");
  const Call call = call_of(agent);

  for (const std::string text :
       {R"({"score": 7})", "```json\n{\"score\": 7}\n```", " ```\n{\"score\": 7.0}```\n",
        R"({"score": 7, "extra": "fine"})"}) {
    AgentResult result = said(text);
    CHECK(!read_answer(agent, call, result));
    REQUIRE(result.output);
    CHECK(result.output->find_number("score") == 7);
    CHECK(result.content == text);
  }
}

TEST_CASE("A text that does not fit is complained about, in words for the model") {
  const FlatAgent agent =
      agent_of("data: {user: go, output: {score: {type: int}, why: {type: str, required: false}}}");
  const Call call = call_of(agent);
  const auto complaint = [&](const std::string& text) {
    AgentResult result = said(text);
    result.output = json::ObjectText{{"left", "over"}};
    const auto found = read_answer(agent, call, result);
    CHECK(result.output.has_value() == !found);
    return found.value_or("");
  };

  CHECK(complaint("").contains("empty"));
  CHECK(complaint("seven").contains("not JSON"));
  CHECK(complaint("{\"score\": 7").contains("not JSON"));
  CHECK(complaint("[7]").contains("object"));
  CHECK(complaint("{}").contains("score"));
  CHECK(complaint(R"({"score": "7"})").contains("score"));
  CHECK(complaint(R"({"score": 7, "why": null})").empty());
  CHECK(complaint(R"({"score": 7, "why": 1})").contains("why"));
}

TEST_CASE("Nothing is asked of failures, tool calls, refusals and agents without an output") {
  const FlatAgent agent = agent_of("data: {user: go, output: {score: {type: int}}}");
  const FlatAgent plain = agent_of("data: {user: go}");
  const Call call = call_of(agent);
  AgentResult failure = said("x");
  failure.error = contracts::AgentError{.message = "m"};
  AgentResult calls = said("x");
  calls.tool_calls = {{{.id = "1", .name = "f", .arguments = "{}"}}};
  AgentResult refusal = said("I will not.");
  refusal.finish_reason = "content_filter";
  AgentResult text = said("x");

  CHECK(!read_answer(agent, call, failure));
  CHECK(!read_answer(agent, call, calls));
  CHECK(!read_answer(agent, call, refusal));
  CHECK(!read_answer(plain, call_of(plain), text));
}

TEST_CASE("After a complaint the model sees its answer and what was wrong with it") {
  const FlatAgent agent = agent_of("data: {user: go, output: {score: {type: int}}}");

  const Call again = with_complaint(call_of(agent), said("seven"), "it is not JSON");

  REQUIRE(again.messages.size() == 3);
  CHECK(std::get<AssistantMessage>(again.messages[1]).text == "seven");
  CHECK(user_text(again.messages[2]).contains("it is not JSON"));
  CHECK(again.output);
}

TEST_CASE("An answer that never fits is the error invalid_output, with its text") {
  AgentResult result = said("seven");

  refuse_output(result, "it is not JSON");

  REQUIRE(result.error);
  CHECK(result.error->code == "invalid_output");
  CHECK(result.error->type == "InvalidOutput");
  CHECK(result.finish_reason == "error");
  CHECK(result.content == "seven");
}

}  // namespace
}  // namespace treaty::backends
