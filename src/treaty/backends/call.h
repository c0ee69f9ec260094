// One call of a model, whoever serves it: what every protocol can render.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "treaty/contracts/agent_result.h"

namespace treaty::backends {

struct TextPart {
  std::string text;
  bool operator==(const TextPart&) const = default;
};

struct ImagePart {
  std::string media_type;  // "image/png".
  std::string base64;
  bool operator==(const ImagePart&) const = default;
};

using Part = std::variant<TextPart, ImagePart>;

struct UserMessage {
  std::vector<Part> parts;
  bool operator==(const UserMessage&) const = default;
};

struct AssistantMessage {
  std::string text{};
  std::vector<contracts::AgentToolCall> tool_calls{};
  bool operator==(const AssistantMessage&) const = default;
};

// What one tool gave back. Consecutive ones answer the calls of the message before them.
struct ToolMessage {
  std::string tool_call_id;
  std::string tool_name;
  std::string content;
  bool failed = false;
  bool operator==(const ToolMessage&) const = default;
};

using Message = std::variant<UserMessage, AssistantMessage, ToolMessage>;

struct Tool {
  std::string name;
  std::string description{};
  std::string parameters_json{};  // JSON Schema of an object; empty: no parameters.
  bool operator==(const Tool&) const = default;
};

// Structured output: the text of the answer shall be JSON that fits the schema.
struct OutputSchema {
  std::string name = "output";
  std::string schema_json;
  bool operator==(const OutputSchema&) const = default;
};

struct Call {
  std::string model;
  std::string system{};
  std::vector<Message> messages{};
  std::vector<Tool> tools{};
  std::optional<OutputSchema> output{};
  std::optional<std::int64_t> max_output_tokens{};
  std::optional<double> temperature{};
  std::vector<std::string> stop{};
  bool stream = false;
};

}  // namespace treaty::backends
