#include "treaty/backends/call.h"

namespace treaty::backends {
namespace {

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

std::size_t text_bytes(const Message& message) {
  return std::visit([](const auto& kind) { return bytes_of(kind); }, message);
}

}  // namespace treaty::backends
