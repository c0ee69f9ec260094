#include "treaty/backends/scripted/asked.h"

#include <type_traits>

namespace treaty::backends {
namespace {

std::string text_of(const UserMessage& message) {
  std::string text;
  for (const Part& part : message.parts) {
    if (const auto* words = std::get_if<TextPart>(&part)) text += words->text;
  }
  return text;
}

void take(Asked& asked, const UserMessage& message) {
  asked.user_text = text_of(message);
  asked.tool_results.clear();
  asked.prompt_bytes += asked.user_text.size();
}

void take(Asked& asked, const AssistantMessage& message) {
  asked.tool_results.clear();
  asked.prompt_bytes += message.text.size();
  for (const auto& call : message.tool_calls) asked.prompt_bytes += call.arguments.size();
}

void take(Asked& asked, const ToolMessage& message) {
  asked.tool_results.push_back(message.content);
  asked.prompt_bytes += message.content.size();
}

}  // namespace

Asked asked_of(const Call& call) {
  Asked asked{.model = call.model, .stream = call.stream, .prompt_bytes = call.system.size()};
  for (const Message& message : call.messages) {
    std::visit([&](const auto& kind) { take(asked, kind); }, message);
  }
  for (const Tool& tool : call.tools) {
    asked.tools.push_back({tool.name, tool.parameters_json});
    asked.prompt_bytes += tool.description.size() + tool.parameters_json.size();
  }
  if (call.output) asked.output_schema_json = call.output->schema_json;
  return asked;
}

}  // namespace treaty::backends
