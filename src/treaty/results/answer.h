// What one answer of a provider holds once its wire is read, before anything is decided about it.
// Streamed and unstreamed answers become the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "treaty/contracts/agent_result.h"
#include "treaty/results/thought.h"

namespace treaty::results {

struct Answer {
  bool complete = false;  // The whole body was read; a stream came to its terminal marker.
  std::string content{};
  std::string refusal{};
  std::vector<contracts::AgentToolCall> tool_calls{};
  std::string thinking{};  // What can be read of the thoughts; never a part of the content.
  std::vector<Thought> thoughts{};
  std::string finish_reason_raw{};
  bool prompt_blocked = false;  // Gemini: the prompt never reached the model.
  std::optional<contracts::UsageInfo> usage{};
  std::optional<double> cost{};  // The provider's own figure, in dollars.
  std::string model{};
  std::string error_body{};  // JSON of an error inside an answer that began well; else empty.
};

}  // namespace treaty::results
