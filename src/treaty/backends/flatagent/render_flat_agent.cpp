#include "treaty/backends/flatagent/render_flat_agent.h"

#include <fmt/format.h>

#include <array>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::backends {
namespace {

std::string text_in(const Object& object, std::string_view name) {
  const Dynamic* found = member_of(object, name);
  if (found == nullptr) return {};
  return found->is_string() ? std::string(found->get_string()) : templates::print(*found);
}

AssistantMessage assistant_of(const Object& said) {
  AssistantMessage message{.text = text_in(said, "content")};
  const Dynamic* calls = member_of(said, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return message;
  for (const Dynamic& call : calls->get_array()) {
    if (!call.is_object()) continue;
    message.tool_calls.push_back({.id = text_in(call.get_object(), "id"),
                                  .name = text_in(call.get_object(), "name"),
                                  .arguments = text_in(call.get_object(), "arguments")});
  }
  return message;
}

ToolMessage tool_of(const Object& said) {
  const Dynamic* failed = member_of(said, "is_error");
  return {.tool_call_id = text_in(said, "tool_call_id"),
          .tool_name = text_in(said, "name"),
          .content = text_in(said, "content"),
          .failed = failed != nullptr && failed->is_bool() && failed->get_bool()};
}

UserMessage user_of(std::string text) { return {.parts = {TextPart{std::move(text)}}}; }

// After the last message if it is one of the user's side; the model sees it as the newest word.
void append_post_history(std::vector<Message>& messages, const std::string& instructions) {
  const std::string_view words = trimmed(instructions);
  if (words.empty()) return;
  const std::string text = fmt::format("System:\n\n{}", words);
  if (auto* user = std::get_if<UserMessage>(&messages.back())) {
    user->parts.emplace_back(TextPart{text});
  } else if (auto* tool = std::get_if<ToolMessage>(&messages.back())) {
    tool->content += tool->content.empty() ? text : fmt::format("\n\n{}", text);
  } else {
    messages.emplace_back(user_of(text));
  }
}

std::vector<Message> messages_of(const List& chain) {
  std::vector<Message> messages;
  for (const Dynamic& said : chain) {
    if (!said.is_object()) continue;
    const std::string role = text_in(said.get_object(), "role");
    if (role == "assistant") messages.emplace_back(assistant_of(said.get_object()));
    if (role == "tool") messages.emplace_back(tool_of(said.get_object()));
    if (role == "user") messages.emplace_back(user_of(text_in(said.get_object(), "content")));
  }
  return messages;
}

struct Texts {
  std::string system{};
  std::string user{};
  std::string post_history{};
};

Read<Texts> render_texts(const FlatAgent& agent, const Dynamic& input) {
  const Dynamic model(agent.profile.written);
  const Dynamic tools{List{}};
  const Dynamic tools_prompt("");
  const std::array<templates::Binding, 3> bound = {
      {{"model", &model}, {"tools", &tools}, {"tools_prompt", &tools_prompt}}};
  const templates::Scope scope{.input = &input, .bound = bound};
  const auto rendered = [&scope](const std::optional<PromptText>& prompt, std::string_view name) {
    return prompt ? at(fmt::format("`{}`", name), prompt->render(scope)) : std::string();
  };
  Texts texts;
  TREATY_TRY(texts.system, rendered(agent.system, "system"));
  TREATY_TRY(texts.user, rendered(agent.user, "user"));
  TREATY_TRY(const auto suffix, rendered(agent.suffix, "instruction_suffix"));
  TREATY_TRY(texts.post_history, rendered(agent.post_history, "post_history_instructions"));
  if (!suffix.empty()) texts.user += fmt::format("\n\n{}", suffix);
  return texts;
}

}  // namespace

void append_chain(Messages& messages, const List& chain) {
  for (Message& message : messages_of(chain)) messages.push_back(std::move(message));
}

Read<Call> render(const FlatAgent& agent, const FlatAgentInput& input) {
  TREATY_TRY(Texts texts, render_texts(agent, input.input));
  Call call{.model = agent.profile.model,
            .system = std::move(texts.system),
            .max_output_tokens = agent.profile.max_tokens,
            .temperature = agent.profile.temperature,
            .sampling = agent.profile.sampling,
            .reasoning = agent.profile.reasoning};
  std::vector<Message> messages = messages_of(input.chain);
  messages.insert(messages.begin(), user_of(std::move(texts.user)));
  append_post_history(messages, texts.post_history);
  for (Message& message : messages) call.messages.push_back(std::move(message));
  if (!input.without_tools) call.tools = agent.tools;
  // With tools at hand a model is free to answer with a call.
  if (agent.output && call.tools.empty()) call.output = agent.output->request;
  return call;
}

}  // namespace treaty::backends
