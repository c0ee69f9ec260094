// What follows from a backend's answer: an end, a question to the client, another call, a failure.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/tools.h"
#include "treaty/turns/seal.h"
#include "treaty/turns/settings.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {

// The model is done.
struct Finish {
  std::string text;
  bool was_cut = false;  // finish_reason `length`.
};

// The client runs its tools. `known` are results that were made here (unknown tools, arguments that
// do not fit, suppressed calls); the model gets all of them in the order it asked.
struct AskClient {
  std::vector<contracts::ToolCall> calls;  // One or more, in the model's order.
  std::vector<backends::ToolMessage> known{};
  std::string text{};  // What the model said beside its calls.
};

// Nothing is left for the client: the model is asked again.
struct AskAgain {
  std::vector<backends::ToolMessage> results;
  std::string text{};  // What the model said beside its calls.
};

struct Fail {
  contracts::AgentError error;
};

// Bounds of one answer. With more calls than this, none is run. A call whose arguments exceed the
// bytes that are left is not run.
constexpr std::size_t kMostCalls = 128;
constexpr std::size_t kMostAllArgumentBytes = std::size_t{4} << 20U;  // Of all calls that are run.

// AgentError::type of an answer that is larger than what is accepted. A turn that fails by it is
// not retryable: the next try would most likely cost the same for nothing.
constexpr std::string_view kAnswerTooLarge = "AnswerTooLarge";

// The usage of a turn with that of one more call. Counts come from outside: no sum wraps around.
contracts::Usage add_usage(contracts::Usage usage, const contracts::UsageInfo& spent);

using Step = std::variant<Finish, AskClient, AskAgain, Fail>;

struct Stepped {
  Step step;
  Progress progress;                  // With this answer counted.
  backends::AssistantMessage said{};  // What the model said, for the transcript; ids made whole.
  std::vector<StepNote> notes{};
};

// Usage is added up; ids that are missing or were used before in the turn are replaced (TOOL-02).
// Calls that cannot be run are failed results for the model; the same call for the
// third time is suppressed. Past `max_rounds` rounds of tools: Fail with the code max_rounds.
//
// Calls are calls whatever the finish reason says; of an answer that was cut at its length the last
// one is not run. An answer without calls and text is a Finish with an empty text, which seal()
// fills, unless it said that it wanted tools.
Stepped next_step(const AgentRole& role, int max_rounds, Progress progress,
                  const contracts::AgentResult& result);

// One result for each call of the message, in the order of its calls: those without one have
// failed, and results without a call are left out.
std::vector<backends::ToolMessage> in_order_of_calls(const backends::AssistantMessage& said,
                                                     std::vector<backends::ToolMessage> results);

// The calls of one answer: those that the client is asked to run, and those that the model is told
// about instead.
struct CheckedCalls {
  // As they stand in the transcript: ids made whole, what no provider would take back left out.
  std::vector<contracts::AgentToolCall> said{};
  std::vector<contracts::ToolCall> for_client{};
  std::vector<backends::ToolMessage> refused{};  // For the model, which may do better next time.
  std::vector<StepNote> notes{};
};

// Notes ids and calls in `progress`. `last_is_cut`: the answer ended within its last call, or right
// behind it.
CheckedCalls check_tool_calls(const AgentRole& role,
                              const std::vector<contracts::AgentToolCall>& calls, bool last_is_cut,
                              Progress& progress);

}  // namespace treaty::turns
