#include "treaty/backends/flatagent/render_flat_agent.h"

#include <doctest/doctest.h>

#include "treaty/backends/flatagent/read_flat_agent.h"

namespace treaty::backends {
namespace {

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

TEST_CASE("Prompts are rendered over the input; what is not there is empty") {
  const FlatAgent agent = agent_of(R"(
data:
  model: {provider: openai, name: m1, temperature: 0.5, max_tokens: 9, reasoning: {effort: low}}
  system: "You are {{ input.role | default('nobody') }} on {{ model.name }}."
  user: |
    {% for t in input.topics %}- {{ t }}
    {% endfor %}{{ input.missing }}.
)");

  const Call call = call_of(agent, Object{{"role", "a poet"}, {"topics", List{"rain", 3, true}}});

  CHECK(call.model == "m1");
  CHECK(call.temperature == 0.5);
  CHECK(call.max_output_tokens == 9);
  CHECK(call.reasoning == Reasoning{.effort = Effort::low});
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

}  // namespace
}  // namespace treaty::backends
