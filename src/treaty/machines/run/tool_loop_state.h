// What a tool loop knows between two of its steps. It is part of every checkpoint, so that a tool
// that has run does not run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "treaty/machines/machine.h"

namespace treaty::machines {

struct ToolLoopState {
  List chain{};  // Messages after the first prompt, see AgentCall::chain.
  std::int64_t turns = 0;
  std::int64_t tool_calls = 0;
  std::int64_t calls = 0;  // Agent calls so far, for the totals of a resumed execution.
  std::int64_t waits = 0;  // Waits between them.
  double cost = 0;
  double seconds = 0;    // Duration up to the last checkpoint.
  double began = 0;      // Moment; earlier runners' time is subtracted.
  List pending{};        // The model's calls that are not all answered,
  std::size_t next = 0;  // and the first one without an answer.
  List skipped{};        // Ids and names that hooks exclude.
  Object result{};       // The model's newest answer.
  std::string stop{};    // Why the loop ended.
  std::optional<std::string> left_to{};
};

// The `tool_loop_state` of a snapshot.
Object object_of(const ToolLoopState& loop);
ToolLoopState read_tool_loop_state(const Object& kept);

}  // namespace treaty::machines
