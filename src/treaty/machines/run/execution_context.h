// The state of one running execution, and what every part of the runner does with it: write
// checkpoints and journal lines, render templates, count calls, notify the observer.
//
// The parts of the runner take it by reference and store nothing in it that they do not share:
//   hook_runner.h        calls hooks and applies their replies
//   agent_calls.h        calls the agent of a state: once, with retries, in parallel, by vote
//   tool_loop.h          lets an agent use tools until it answers
//   child_machines.h     runs the machines of a state, and those that it launches
//   state_steps.h        what a state does, in its order, and what follows: hooks, the next state
// execution_run.h puts them together.
//
// Thread rule: belongs to one event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/machines/journal/history.h"
#include "treaty/machines/machine.h"
#include "treaty/machines/run/agent_values.h"
#include "treaty/machines/run/journal_writer.h"
#include "treaty/machines/run/world.h"

namespace treaty::machines {

// Why the work of a state stopped short, and what the runner does about it.
struct RunFailure {
  enum class Way : std::uint8_t {
    routed,       // To on_error, then to the on_error hook; else the machine fails.
    unrouted,     // The machine fails.
    interrupted,  // The execution stops here and can be resumed.
    lost,         // This runner cannot continue it; `trouble` says why.
  };

  Object error{};
  Way way = Way::routed;
  Error trouble{};
};

template <class T>
using Attempt = std::expected<T, RunFailure>;

inline std::unexpected<RunFailure> fail(std::string_view code, std::string_view type,
                                        std::string_view message, bool retryable = false) {
  return std::unexpected(RunFailure{.error = make_error(code, type, message, retryable)});
}

// Of a state that takes longer than it may, wherever that is noticed (section 5).
inline Object state_timeout(std::string_view state) {
  return make_error("timeout", "StateTimeout",
                    "The state '" + std::string(state) + "' took longer than its timeout.", true);
}

inline std::unexpected<RunFailure> template_failure(std::string_view message) {
  return fail("template_error", "TemplateError", message);
}
inline std::unexpected<RunFailure> hook_failure(std::string_view message) {
  return fail("hook_error", "HookError", message);
}
inline std::unexpected<RunFailure> lost(Error trouble) {
  return std::unexpected(RunFailure{.way = RunFailure::Way::lost, .trouble = std::move(trouble)});
}
inline std::unexpected<RunFailure> interrupted() {
  return std::unexpected(RunFailure{.way = RunFailure::Way::interrupted});
}

// What a tool loop knows between two of its steps. It is part of every checkpoint, so that a tool
// that has run does not run again.
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

// A larger context is not written: contexts are for what states tell each other.
constexpr std::size_t kLargestContext = std::size_t{16} << 20U;

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
  RunTask<void> release();  // Flushes, and releases the lease.

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
  // Keeps what a new call has cost, for Outcome::paid.
  void pay(const Object& result);

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
  std::vector<Object> paid{};  // See Outcome.
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

// Answers what earlier processes have paid for this round, and calls World::on_earlier_call.
std::vector<Object> tell_earlier_payments(const World& world, const std::vector<RunHistory>& runs);

Attempt<Dynamic> render(const Template& source, const templates::Scope& scope);
// {} without a template.
Attempt<Object> render_object(const std::optional<Template>& source, const templates::Scope& scope);

}  // namespace treaty::machines
