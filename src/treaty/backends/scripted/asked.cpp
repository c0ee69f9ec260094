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

}  // namespace

Asked asked_of(const Call& call) { return asked_of(call, call.messages.size()); }

Asked asked_of(const Call& call, std::size_t messages) {
  Asked asked{.model = call.model,
              .stream = call.stream,
              .prompt_bytes = call.system.size() + call.messages.bytes()};
  std::size_t ended = messages;  // Behind the last message that is not a tool's.
  while (ended > 0 && std::holds_alternative<ToolMessage>(call.messages[ended - 1])) --ended;
  for (std::size_t i = ended; i < messages; ++i) {
    asked.tool_results.push_back(std::get<ToolMessage>(call.messages[i]).content);
  }
  for (std::size_t i = ended; i > 0; --i) {
    const auto* user = std::get_if<UserMessage>(&call.messages[i - 1]);
    if (user == nullptr) continue;
    asked.user_text = text_of(*user);
    break;
  }
  for (const Tool& tool : call.tools) {
    asked.tools.push_back({tool.name, tool.parameters_json});
    asked.prompt_bytes += tool.description.size() + tool.parameters_json.size();
  }
  if (call.output) asked.output_schema_json = call.output->schema_json;
  return asked;
}

}  // namespace treaty::backends
