// The state of one running execution, and what every part of the runner does with it: write
// checkpoints and journal lines, render templates, count calls, notify the observer.
//
// The parts of the runner take it by reference and store nothing in it that they do not share:
//   hook_runner.h        calls hooks and applies their replies
//   agent_calls.h        calls the agent of a state: once, with retries, in parallel, by vote
//   tool_loop.h          lets an agent use tools until it answers
//   child_machines.h     runs the machines of a state
//   launched_machines.h  starts machines that nobody waits for
//   state_work.h         what a state does, in its order
//   state_exit.h         what follows from it: hooks, the context, the next state
// execution_run.h puts them together.
//
// Thread rule: belongs to one event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/machines/journal/history.h"
#include "treaty/machines/run/journal_writer.h"
#include "treaty/machines/run/run_failure.h"
#include "treaty/machines/run/tool_loop_state.h"
#include "treaty/machines/run/world.h"

namespace treaty::machines {

// A larger context is not written: contexts are for what states tell each other.
constexpr std::size_t kLargestContext = std::size_t{16} << 20U;

struct Start {
  std::string execution{};
  Object input{};
  std::string parent{};
  std::int64_t depth = 0;
  std::optional<std::int64_t> max_steps{};  // Instead of the machine's.
  bool is_kept = true;                      // False: not persisted, whatever the machine says.
};

template <class T>
using RunTask = boost::asio::awaitable<Attempt<T>>;

// The result of a state's work.
struct StateWork {
  Dynamic result{};  // The AgentResult; null without an agent.
  Dynamic output = Object();
  std::optional<std::string> left_to{};  // The target of a transition taken within the tool loop.
  bool is_rendered = false;              // The output is a final state's rendered `output`.
};

// The execution stops until a signal, or the results of tools, arrive on the channel.
struct Waiting {
  std::string channel;
};

using WorkOrWaiting = std::variant<StateWork, Waiting>;

struct ExecutionContext {
  ExecutionContext(const World& world, std::shared_ptr<const Machine> machine, Start start,
                   JournalWriter out);
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;

  // --- Durable writes. They are buffered until flush(), which precedes every outside effect.
  RunTask<void> checkpoint(std::string_view event, std::string_view state,
                           const Dynamic& output = nullptr, std::string_view channel = {});
  RunTask<void> note(std::string_view event, std::string line);
  RunTask<void> flush();

  // A durable wait: an execution that resumes waits for the rest.
  RunTask<void> pause(double seconds);

  // `interrupted` when the execution shall stop, `lost` when its lease is.
  Attempt<void> check_stopping() const;

  // --- The context of the machine
  templates::Scope scope(const Dynamic* output = nullptr, const Dynamic* result = nullptr) const;
  Object& members() { return context.get_object(); }
  void set_metadata(std::string_view state);  // context.machine.
  void set_last_error(const Object& error);   // context.last_error, _type, _code.
  void erase_member(std::string_view name);
  // The outcomes are added to the totals of this execution.
  void count_call(const Object& result);

  const StepHistory& replayed() const;  // What earlier runners did in the current step.
  std::size_t max_parallel() const;
  void observe(std::string_view kind, std::string_view state, std::string_view detail = {},
               double seconds = 0, std::string_view code = {}) const;

  const World world;
  const std::shared_ptr<const Machine> machine;
  const Start start;
  JournalWriter writer;

  Dynamic context = Object();
  const Dynamic input;
  std::int64_t step = 0;
  Spent spent{};
  std::vector<std::string> path{};
  std::int64_t calls = 0;
  std::vector<double> waits{};
  // Launched machines that may not have ended. Whoever resumes this execution resumes them. They
  // may outlive this object.
  std::shared_ptr<List> launches = std::make_shared<List>();

  // --- Of the current state
  double deadline = kNever;
  std::int64_t next_call = 0;
  std::int64_t next_wait = 0;
  std::optional<ToolLoopState> tool_loop{};
  List waiting_tools{};  // Calls that whoever runs the machine has to answer.

  std::map<std::int64_t, StepHistory> replay{};  // What earlier runners have done, by step.

 private:
  std::string snapshot(std::string_view event, std::string_view state, const Dynamic& output,
                       std::string_view channel) const;
};

Attempt<Dynamic> render(const Template& source, const templates::Scope& scope);
// {} without a template.
Attempt<Object> render_object(const std::optional<Template>& source, const templates::Scope& scope);

}  // namespace treaty::machines
