// One execution of a machine, from its start to its end (machines.md section 4). What happens in a
// state reads top to bottom in run_state(); execution_context.h lists the parts it uses.
//
// Thread rule: belongs to one event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "treaty/machines/run/execution_context.h"
#include "treaty/machines/run/hook_runner.h"
#include "treaty/machines/run/state_steps.h"

namespace treaty::machines {

class ExecutionRun {
 public:
  ExecutionRun(const World& world, std::shared_ptr<const Machine> machine, Start start,
               JournalWriter writer)
      : run_(world, std::move(machine), std::move(start), std::move(writer)) {}

  boost::asio::awaitable<Outcome> begin();
  // Continues where the newest checkpoint says (section 9).
  boost::asio::awaitable<Outcome> go_on(const Snapshot& snapshot, History history);

 private:
  // Where in a state the execution continues.
  enum class Point : std::uint8_t { enter, entered, execute, exited };

  boost::asio::awaitable<Outcome> start();
  boost::asio::awaitable<Outcome> live(const State* state, Point point);
  RunTask<NextStep> run_state(const State& state, Point from);
  RunTask<void> enter(const State& state);
  Attempt<void> render_context();
  void note_process();
  void restore_tool_loop(const Object& kept);

  // Each end of an execution.
  boost::asio::awaitable<Outcome> end(Dynamic output);
  boost::asio::awaitable<Outcome> call_end_hooks(Dynamic output);
  boost::asio::awaitable<Outcome> fail_with(RunFailure failure, const State* state);
  boost::asio::awaitable<Outcome> stop_with(RunFailure failure);
  boost::asio::awaitable<Outcome> wait_for(std::string channel);
  Outcome outcome(Status status) const;

  ExecutionContext run_;
  HookRunner hooks_{run_};
};

}  // namespace treaty::machines
