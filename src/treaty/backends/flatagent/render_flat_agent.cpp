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

// Models like to put their JSON into a fence.
std::string_view without_fence(std::string_view text) {
  std::string_view inside = trimmed(text);
  if (!inside.starts_with("```") || !inside.ends_with("```") || inside.size() < 6) return inside;
  inside.remove_suffix(3);
  const std::size_t line = inside.find('\n');
  return line == std::string_view::npos ? inside.substr(3) : trimmed(inside.substr(line + 1));
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

std::optional<std::string> read_answer(const FlatAgent& agent, const Call& call,
                                       contracts::AgentResult& result) {
  const bool has_calls = result.tool_calls && !result.tool_calls->empty();
  if (!agent.output || !call.output || result.error || has_calls) return std::nullopt;
  if (result.finish_reason == "content_filter") return std::nullopt;
  result.output.reset();
  const std::string_view text =
      without_fence(result.content ? *result.content : std::string_view());
  if (text.empty()) return "it is empty";
  const json::Document document(text);
  if (!document.faults().empty() || !document.root()) {
    const bool has_fault = !document.faults().empty();
    return fmt::format("it is not JSON{}{}", has_fault ? ": " : "",
                       has_fault ? document.faults().front().message : "");
  }
  if (const auto mismatch = agent.output->schema.mismatch(*document.root())) {
    return mismatch->where.empty() ? mismatch->message
                                   : fmt::format("{}: {}", mismatch->where, mismatch->message);
  }
  result.output = json::ObjectText::of(*document.root());
  return std::nullopt;
}

Call with_complaint(Call call, const contracts::AgentResult& result, const std::string& complaint) {
  call.messages.push_back(AssistantMessage{.text = result.content.value_or("")});
  call.messages.push_back(user_of(fmt::format(
      "Your answer cannot be used: {}. Answer again with one JSON object that fits the schema, and "
      "nothing else.",
      complaint)));
  return call;
}

void refuse_output(contracts::AgentResult& result, const std::string& complaint) {
  result.output.reset();
  result.finish_reason = "error";
  result.error = contracts::AgentError{
      .message = fmt::format("the answer does not fit the agent's output: {}", complaint),
      .code = "invalid_output",
      .type = "InvalidOutput",
      .retryable = true};
}

}  // namespace treaty::backends
