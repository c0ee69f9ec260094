#include "treaty/backends/scripted/asked.h"

#include <variant>

namespace treaty::backends {
namespace {

std::string text_of(const UserMessage& message) {
  std::string text;
  for (const Part& part : message.parts) {
    if (const auto* words = std::get_if<TextPart>(&part)) text += words->text;
  }
  return text;
}

std::size_t bytes_of(const UserMessage& message) {
  std::size_t bytes = 0;
  for (const Part& part : message.parts) {
    if (const auto* words = std::get_if<TextPart>(&part)) bytes += words->text.size();
  }
  return bytes;
}

std::size_t bytes_of(const AssistantMessage& message) {
  std::size_t bytes = message.text.size();
  for (const auto& call : message.tool_calls) bytes += call.arguments.size();
  return bytes;
}

std::size_t bytes_of(const ToolMessage& message) { return message.content.size(); }

}  // namespace

Asked asked_of(const Call& call) {
  Asked asked{.model = call.model, .stream = call.stream, .prompt_bytes = call.system.size()};
  const UserMessage* user = nullptr;
  std::size_t ended = 0;  // Behind the last message that is not a tool's.
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const Message& message = call.messages[i];
    asked.prompt_bytes += std::visit([](const auto& kind) { return bytes_of(kind); }, message);
    if (const auto* said = std::get_if<UserMessage>(&message)) user = said;
    if (!std::holds_alternative<ToolMessage>(message)) ended = i + 1;
  }
  if (user != nullptr) asked.user_text = text_of(*user);
  for (std::size_t i = ended; i < call.messages.size(); ++i) {
    asked.tool_results.push_back(std::get<ToolMessage>(call.messages[i]).content);
  }
  for (const Tool& tool : call.tools) {
    asked.tools.push_back({tool.name, tool.parameters_json});
    asked.prompt_bytes += tool.description.size() + tool.parameters_json.size();
  }
  if (call.output) asked.output_schema_json = call.output->schema_json;
  return asked;
}

}  // namespace treaty::backends
