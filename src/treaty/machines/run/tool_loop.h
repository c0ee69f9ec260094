// An agent that uses tools until it answers, or until a limit stops it (machines.md section 6).
//
//   call agent ──▶ no tool calls: done
//        ▲    └──▶ tool calls ──▶ hooks ──▶ run each ──▶ hooks ──▶ a transition may leave
//        └──────────────────────────────────────────────────┘
//
// tool_loop.cpp is the loop, tool_calls.cpp what happens to each call.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/run/execution_context.h"
#include "treaty/machines/run/hook_runner.h"

namespace treaty::machines {

// 0: no limit.
struct ToolLoopLimits {
  double max_turns = 0;
  double max_tool_calls = 0;
  double tool_timeout = 0;
  double total_timeout = 0;
  double max_cost = 0;
  std::set<std::string> allowed{};  // Empty: all.
  std::set<std::string> denied{};

  bool allows(const std::string& tool) const {
    return !denied.contains(tool) && (allowed.empty() || allowed.contains(tool));
  }
};

// The loop of one state. Its progress is ExecutionContext::tool_loop, which checkpoints contain: a
// loop that was interrupted continues with the next tool. Belongs to the execution's event loop.
class ToolLoopRun {
 public:
  ToolLoopRun(ExecutionContext& run, HookRunner& hooks, const State& state, AgentCall& call)
      : run_(run), hooks_(hooks), state_(state), call_(call) {}

  RunTask<WorkOrWaiting> run();

 private:
  ToolLoopState& loop() const { return *run_.tool_loop; }

  // --- tool_loop.cpp
  Attempt<void> read_limits();
  void begin();
  RunTask<bool> run_turn();  // False: the loop is over.
  RunTask<bool> call_model();
  RunTask<void> force_answer();
  StateWork result();
  std::string limit_reached() const;
  Attempt<bool> check_exit();  // False: a transition leaves the loop.
  bool is_told_to_abort();
  List take_list(std::string_view name);  // Removes it from the context.
  void publish_progress();                // In the context.

  // --- tool_calls.cpp
  RunTask<bool> run_tools();
  RunTask<bool> run_tool();
  RunTask<ToolOutcome> use_tool(const ToolInvocation& call, bool& is_outside);
  RunTask<void> report(const ToolInvocation& call, const ToolOutcome& outcome);
  ToolInvocation tool_call_at(std::size_t place) const;      // Of those that are pending.
  std::string refusal_of(const ToolInvocation& call) const;  // Why it is not run; empty: it is.
  std::vector<backends::Tool> offered_tools() const;
  void list_waiting_tools();
  void answer_unmade_calls();

  ExecutionContext& run_;
  HookRunner& hooks_;
  const State& state_;
  AgentCall& call_;
  ToolLoopLimits limits_{};
};

}  // namespace treaty::machines
