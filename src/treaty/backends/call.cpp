#include "treaty/backends/call.h"

#include <algorithm>

#include "treaty/base/text.h"

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
  for (const auto& thought : message.thoughts.parts) bytes += thought.json.size();
  return bytes;
}

std::size_t bytes_of(const ToolMessage& message) { return message.content.size(); }

std::size_t memory_in(const UserMessage& message) {
  std::size_t bytes = message.parts.capacity() * sizeof(Part);
  for (const Part& part : message.parts) {
    if (const auto* image = std::get_if<ImagePart>(&part)) {
      bytes += image->media_type.capacity() + image->base64.capacity();
    } else {
      bytes += std::get<TextPart>(part).text.capacity();
    }
  }
  return bytes;
}

std::size_t memory_in(const AssistantMessage& message) {
  std::size_t bytes = message.text.capacity();
  bytes += message.tool_calls.capacity() * sizeof(contracts::AgentToolCall);
  for (const auto& call : message.tool_calls) {
    bytes += call.id.capacity() + call.name.capacity() + call.arguments.capacity();
  }
  bytes += message.thoughts.parts.capacity() * sizeof(results::Thought);
  for (const auto& thought : message.thoughts.parts) bytes += thought.json.capacity();
  return bytes;
}

std::size_t memory_in(const ToolMessage& message) {
  return message.tool_call_id.capacity() + message.tool_name.capacity() +
         message.content.capacity();
}

bool is_picture(const Part& part) { return std::holds_alternative<ImagePart>(part); }

}  // namespace

std::size_t text_bytes(const Message& message) {
  return std::visit([](const auto& kind) { return bytes_of(kind); }, message);
}

std::size_t memory_of(const Message& message) {
  return sizeof(Message) + std::visit([](const auto& kind) { return memory_in(kind); }, message);
}

std::string_view name_of(Effort effort) { return kEffortNames[static_cast<std::size_t>(effort)]; }

std::optional<Effort> effort_of(std::string_view name) {
  for (std::size_t i = 0; i < kEffortNames.size(); ++i) {
    if (equal_folded(kEffortNames[i], name)) return static_cast<Effort>(i);
  }
  return std::nullopt;
}

bool has_pictures(const Messages& messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const auto* user = std::get_if<UserMessage>(&messages[i]);
    if (user != nullptr) return std::ranges::any_of(user->parts, is_picture);
  }
  return false;
}

}  // namespace treaty::backends
