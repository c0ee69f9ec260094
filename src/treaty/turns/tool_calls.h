// The tool calls of a model, which is not trusted: which of them a client may run, and what the
// model is told about the others. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/tools.h"
#include "treaty/turns/settings.h"
#include "treaty/turns/step_note.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {

// Bounds of one answer. Past the number of calls none of them is run; past the bytes, the call.
constexpr std::size_t kMostCalls = 128;
constexpr std::size_t kMostArgumentBytes = std::size_t{1} << 20U;     // Of one call,
constexpr std::size_t kMostAllArgumentBytes = std::size_t{4} << 20U;  // of all that are run.

struct CheckedCalls {
  // As they stand in the transcript: ids made whole, what no provider would take back left out.
  std::vector<contracts::AgentToolCall> said{};
  std::vector<contracts::ToolCall> for_client{};
  std::vector<backends::ToolMessage> refused{};  // For the model, which may do better next time.
  std::vector<StepNote> notes{};
};

// Notes ids and calls in `progress`. `last_is_cut`: the answer ended within its last call, or right
// behind it.
CheckedCalls check_tool_calls(const Role& role, const std::vector<contracts::AgentToolCall>& calls,
                              bool last_is_cut, Progress& progress);

}  // namespace treaty::turns
