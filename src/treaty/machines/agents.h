// Whom a machine's states ask: agents and tools. The world behind them is real or a script; the
// runner is the same.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "treaty/backends/call.h"
#include "treaty/machines/machine.h"

namespace treaty::machines {

// Moments are seconds of the timeline's clock.
constexpr double kNever = std::numeric_limits<double>::infinity();

struct AgentCall {
  const AgentReference& agent;
  const std::string& directory;  // Of the machine's file: paths in the reference start there.
  Value input{};                 // As the state's `input` was rendered; {} without one.
  std::optional<std::string> session_id{};
  std::string key{};  // `execution:step:n`: the same for the same call, also after a crash.

  // Of a tool loop: what was said after the first prompt, oldest first.
  // {"role": "assistant", "content", "tool_calls": [{"id", "name", "arguments"}]},
  // {"role": "tool", "tool_call_id", "name", "content", "is_error"}, {"role": "user", "content"}.
  List chain{};
  bool without_tools = false;               // It shall answer in words.
  std::span<const backends::Tool> tools{};  // Beside its own: those of whoever runs the machine.
  double deadline = kNever;                 // The runner cuts it then; who knows it can do better.
  std::int64_t depth = 0;                   // How many machines stand above whatever it runs.
};

class Agents {
 public:
  virtual ~Agents() = default;

  // An AgentResult as an object without nulls, or anything else that the runner coerces into one
  // (machines.md section 5). Failures are data in it. Cancelling the coroutine ends the call.
  virtual boost::asio::awaitable<Value> call(const AgentCall& call) = 0;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it.
  std::string key{};  // As AgentCall::key: no two calls of an execution and its children share it.
  bool is_offered = false;  // One of AgentCall::tools.
};

struct ToolOutcome {
  std::string content;
  bool is_error = false;
};

class Tools {
 public:
  virtual ~Tools() = default;

  // Nothing when whoever has the tool is to be asked outside of this process: the execution stands
  // until a runner comes whose tools have the answer.
  virtual boost::asio::awaitable<std::optional<ToolOutcome>> run(const ToolCall& call,
                                                                 double deadline) = 0;
};

}  // namespace treaty::machines
