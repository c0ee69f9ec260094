// Everything around a machine that the runner needs: real, or simulated.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/agents.h"
#include "treaty/machines/hooks/hook.h"
#include "treaty/machines/machine.h"
#include "treaty/machines/run/timeline.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

// An event of a running execution, for people who watch it and for the progress of a turn.
struct RunEvent {
  // "state", "call", "dispatch", "answer", "wait", "waiting", "tool", "child", "launch", "error",
  // "end".
  std::string_view kind;
  const std::string& execution;
  const std::string& machine;
  std::int64_t depth = 0;
  std::int64_t step = 0;
  std::string_view state{};
  std::string_view detail{};  // An agent, a tool, a child; a reason.
  double seconds = 0;         // Of a wait.
  std::string_view code{};    // Of an error; of "dispatch" the rule.
};

// Called on the event loop of the execution, which continues when on_event returns. The event is
// valid during the call only.
//
//   class Printer final : public RunObserver {
//     void on_event(const RunEvent& event) override { fmt::print("{}\n", event.kind); }
//   };
//   Printer printer;
//   world.observer = &printer;
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_event(const RunEvent& event) = 0;
};

// Reads a machine that another one names by its path. The error is for people.
using OpenMachine = std::function<std::expected<std::shared_ptr<const Machine>, std::string>(
    const std::string& path, const std::string& directory)>;

// Called right after an event is durable, for tests that end the process there. It makes every
// event a commit of its own.
using AfterWrite = std::function<void(std::string_view event, std::int64_t step)>;

// What it refers to outlives every execution that was started with it, launched ones included. All
// of it belongs to one event loop.
//
//   const std::unique_ptr<Timeline> timeline = real_timeline();
//   const HookRegistry hooks = built_in_hooks({});
//   World world{.agents = agents, .tools = tools, .timeline = *timeline, .store = store,
//               .hooks = hooks, .open_machine = open};
//   Outcome outcome = co_await run_machine(world, machine, {.execution = "x", .input = input});
struct World {
  Agents& agents;
  ToolRunner& tools;
  Timeline& timeline;
  store::MachineStore& store;
  const HookRegistry& hooks;
  OpenMachine open_machine;
  RunObserver* observer = nullptr;  // May be null.
  AfterWrite after_write{};
  backends::CallOrigin origin{};  // The turn that it runs for.

  // What this process is called in journals. Empty: nobody asks what a run has cost.
  std::string process{};
  // Called for each call that an earlier process made for the same round, and whose price it can
  // have told nobody. A call is an object of `usage` and `cost`.
  std::function<void(const Object& call)> on_earlier_call{};

  bool notes_hooks = false;  // In the journal: a simulation that goes on must know who was asked.

  // Tools that the caller of the machine offers to agents in a tool loop; null: none.
  std::shared_ptr<const std::vector<backends::Tool>> offered_tools{};

  // Asked between any two things that an execution does. True: it stops there, and can be resumed.
  std::function<bool()> is_stopping{};

  // The same for launched machines, which keep running when their parent is cancelled. Absent:
  // is_stopping of the outermost machine.
  std::function<bool()> is_ending{};
};

// A new execution.
struct Start {
  std::string execution{};
  Object input{};
  std::string parent{};
  std::int64_t depth = 0;
  std::optional<std::int64_t> max_steps{};  // Instead of the machine's.
  bool is_kept = true;                      // False: not persisted, whatever the machine says.
  std::function<void()> on_begun{};         // Called once the beginning is durable.
};

}  // namespace treaty::machines
