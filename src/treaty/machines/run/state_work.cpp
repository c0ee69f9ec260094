#include "treaty/machines/run/state_work.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/machines/run/agent_calls.h"
#include "treaty/machines/run/child_machines.h"
#include "treaty/machines/run/launched_machines.h"
#include "treaty/machines/run/tool_loop.h"

namespace treaty::machines {

namespace {

constexpr std::string_view kWaitAction = "treaty.wait";

Object object_of(const Dynamic& data) {
  if (const auto* object = data.if_object()) return *object;
  return {{"value", data}};
}

Dynamic parse(const std::string& text) {
  const json::Document document(text);
  const auto root = document.root();
  if (!root || !document.faults().empty()) return Dynamic(text);  // Kept as the text that it is.
  return json::to_dynamic(*root);
}

RunTask<WorkOrWaiting> wait_for_signal(ExecutionContext& run, const State& state) {
  if (const auto& taken = run.replayed().signal) co_return StateWork{.output = object_of(*taken)};
  TREATY_CO_TRY(const Dynamic rendered, render(*state.wait_for, run.scope()));
  if (rendered.is_null() || (rendered.is_string() && rendered.get_string().empty())) {
    co_return fail("wait_error", "WaitError", "The channel of `wait_for` is empty.");
  }
  const std::string channel = templates::print(rendered);

  // Either commit contains what is buffered: the signal is taken together with the checkpoint.
  TREATY_CO_TRY_VOID(co_await run.checkpoint("waiting", state.name, nullptr, channel));
  store::MachineWrite waiting = run.writer.take();
  // An execution that is not persisted has no lease, but signals are taken under one.
  std::optional<LeaseGuard> own;
  if (!run.writer.is_kept()) {
    auto lease =
        co_await LeaseGuard::acquire(run.world.store, run.world.timeline, run.start.execution);
    if (!lease) co_return lost(std::move(lease.error()));
    own.emplace(std::move(*lease));
    waiting.execution = own->execution();
    waiting.token = own->token();
    waiting.releases = true;
  } else {
    TREATY_CO_TRY_VOID(run.check_stopping());
  }
  store::MachineWrite going = waiting;
  if (!going.checkpoints.empty() && going.checkpoints.back().event == "waiting") {
    going.checkpoints.pop_back();
  }
  const auto taken = [&](const std::string& data) {
    store::MachineWrite write = going;
    if (run.writer.is_kept()) write.journal.push_back(signal_line(run.step, parse(data)));
    return write;
  };
  auto signal = co_await run.writer.store().take_signal(channel, taken, std::move(waiting));
  if (own && signal) own->mark_released();
  if (own) co_await own->release();
  if (!signal) co_return lost(std::move(signal.error()));
  if (!*signal) co_return Waiting{channel};
  co_return StateWork{.output = object_of(parse(**signal))};
}

// `treaty.wait`.
RunTask<void> wait_action(ExecutionContext& run, const State& state) {
  const Object& context = run.members();
  const auto found = context.find("wait_seconds");
  const Dynamic seconds = found == context.end() ? Dynamic(0) : found->value();
  const bool is_number = seconds.is_number() && !seconds.is_bool();
  const double wait = is_number ? seconds.to_number<double>() : -1;
  if (!std::isfinite(wait) || wait < 0) {
    co_return fail("wait_error", "WaitError",
                   fmt::format("context.wait_seconds is {}, and not a number of seconds.",
                               templates::print(seconds)));
  }
  if (run.world.timeline.now() + wait >= run.deadline) {
    co_return fail("timeout", "StateTimeout",
                   fmt::format("The state '{}' would wait {} s, beyond its timeout.", state.name,
                               templates::print(seconds)),
                   true);
  }
  co_return co_await run.pause(wait);
}

RunTask<void> run_action(ExecutionContext& run, HookRunner& hooks, const State& state) {
  if (*state.action == kWaitAction) co_return co_await wait_action(run, state);
  if (const auto& done = run.replayed().action) {
    for (const Dynamic& reply : *done) {
      TREATY_CO_TRY_VOID(hooks.merge(reply.get_object()));
    }
    co_return Attempt<void>();
  }
  List changes;  // In their order: what one removes the next may set.
  const auto gather = [&](const HookReply& reply, Object&) -> Attempt<bool> {
    Object change;
    for (const std::string_view member : {"context", "unset"}) {
      if (reply.contains(member)) change[member] = reply.at(member);
    }
    changes.emplace_back(std::move(change));
    return false;
  };
  Object details = {{"state", state.name}, {"action", *state.action}};
  TREATY_CO_TRY_VOID(co_await hooks.call(state.hooks, "action", std::move(details), gather));
  co_return co_await run.note("noted", action_line(run.step, changes));
}

RunTask<WorkOrWaiting> run_agent(ExecutionContext& run, HookRunner& hooks, const State& state) {
  TREATY_CO_TRY(AgentCall call, agent_call_of(run, state));
  if (state.tool_loop) {
    ToolLoopRun loop(run, hooks, state, call);
    co_return co_await loop.run();
  }
  TREATY_CO_TRY(Object result, co_await execute_agent(run, state, call));
  StateWork work{.output = payload_of(result)};
  work.result = std::move(result);
  co_return WorkOrWaiting(std::move(work));
}

}  // namespace

RunTask<WorkOrWaiting> perform(ExecutionContext& run, HookRunner& hooks, const State& state) {
  run.deadline = state.timeout ? run.world.timeline.now() + *state.timeout : kNever;
  if (state.wait_for) co_return co_await wait_for_signal(run, state);
  // What comes before a tool loop was done before its checkpoint.
  if (run.tool_loop) co_return co_await run_agent(run, hooks, state);
  if (state.action) TREATY_CO_TRY_VOID(co_await run_action(run, hooks, state));
  if (!state.launch.empty()) TREATY_CO_TRY_VOID(co_await launch_machines(run, state));
  StateWork work;
  if (!state.machines.empty()) {
    TREATY_CO_TRY(OutputOrWaiting children, co_await run_child_machines(run, state));
    if (auto* waiting = std::get_if<Waiting>(&children)) co_return std::move(*waiting);
    work.output = std::move(std::get<Dynamic>(children));
  }
  if (state.agent) co_return co_await run_agent(run, hooks, state);
  if (state.kind == StateKind::final && state.machines.empty() && state.output) {
    TREATY_CO_TRY(work.output, render_object(state.output, run.scope()));
    work.is_rendered = true;
  }
  co_return WorkOrWaiting(std::move(work));
}

}  // namespace treaty::machines
