// The agents and tools that the states of a machine call. They are real, or a script answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/machines/machine.h"
#include "treaty/tools/runner.h"

namespace treaty::machines {

using tools::ToolInvocation;
using tools::ToolOutcome;
using tools::ToolRunner;

// Moments are seconds of the timeline's clock.
constexpr double kNever = std::numeric_limits<double>::infinity();

// Why a call waits, or why it is made again or by another backend.
struct CallNote {
  std::string_view rule;  // As events of a turn name it.
  std::string reason;
  double seconds = 0;  // Of a wait; 0: nobody knows.
};

struct AgentCall {
  const AgentReference& agent;
  const std::string& directory;  // Of the machine's file: paths in the reference start there.
  Dynamic input{};               // As the state's `input` was rendered; {} without one.
  std::optional<std::string> session_id{};
  std::string key{};  // `execution:step:n`: the same for the same call, also after a crash.

  // Of a tool loop: what was said after the first prompt, oldest first.
  // {"role": "assistant", "content", "tool_calls": [{"id", "name", "arguments"}]},
  // {"role": "tool", "tool_call_id", "name", "content", "is_error"}, {"role": "user", "content"}.
  List chain{};
  bool without_tools = false;               // It shall answer in words.
  std::span<const backends::Tool> tools{};  // Beside its own: those of whoever runs the machine.
  double deadline = kNever;                 // The runner cuts it then; who knows it can do better.
  backends::CallOrigin origin{};            // The turn that the machine runs for.
  std::int64_t depth = 0;                   // How many machines stand above whatever it runs.
  std::function<void(const CallNote&)> on_note{};  // During the call; may be empty.
};

// Thread rule: called on the event loop of the execution; any number of calls may run at once.
//
//   class Echo final : public Agents {
//     awaitable<Dynamic> call(const AgentCall& call) override {
//       co_return Object{{"content", templates::print(call.input)}};
//     }
//   };
class Agents {
 public:
  virtual ~Agents() = default;

  // An AgentResult as an object without nulls, or anything else that the runner coerces into one
  // (machines.md section 5). Failures are data in it. Cancelling the coroutine ends the call.
  virtual boost::asio::awaitable<Dynamic> call(const AgentCall& call) = 0;
};

}  // namespace treaty::machines
