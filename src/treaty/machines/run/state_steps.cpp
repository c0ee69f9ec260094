#include "treaty/machines/run/state_steps.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/machines/run/agent_calls.h"
#include "treaty/machines/run/child_machines.h"
#include "treaty/machines/run/tool_loop.h"

namespace treaty::machines {
namespace {

const Object* error_in(const Dynamic& result) {
  const auto* object = result.if_object();
  return object == nullptr ? nullptr : error_of(*object);
}

// The `output` of an on_state_exit reply: the name of a state, or a new result.
Attempt<void> replace_output(ExecutionContext& run, const HookRunner& hooks, const State& state,
                             StateWork& work, const Dynamic& output,
                             std::optional<std::string>& redirect) {
  if (output.is_null()) return {};
  if (const auto* to = output.if_string()) {
    TREATY_TRY_VOID(hooks.check_state(*to));
    redirect = std::string(*to);
    return {};
  }
  const auto* object = output.if_object();
  if (object == nullptr) {
    return hook_failure(
        "on_state_exit answered an output that is neither an object nor the name "
        "of a state.");
  }
  const Dynamic before = work.result.is_object() ? work.result : work.output;
  if (templates::are_equal(before, output)) return {};
  const bool has_error = object->contains("error") && object->at("error").is_object();
  if (!state.agent && !has_error) {  // Not an AgentResult, whatever its members are called.
    work.output = *object;
    return {};
  }
  Object result = coerce(output);
  work.output = payload_of(result);
  work.is_rendered = false;
  if (const Object* error = error_of(result)) run.set_last_error(*error);
  work.result = std::move(result);
  return {};
}

RunTask<void> call_exit_hooks(ExecutionContext& run, HookRunner& hooks, const State& state,
                              StateWork& work, std::optional<std::string>& redirect) {
  const auto* result = work.result.if_object();
  if (result != nullptr && !state.tool_loop && result->contains("tool_calls")) {
    Object details = {{"state", state.name}, {"tool_calls", result->at("tool_calls")}};
    TREATY_CO_TRY_VOID(co_await hooks.call(state.hooks, "tool_calls", std::move(details)));
  }
  Object details = {{"state", state.name}};
  details["output"] = result != nullptr ? work.result : work.output;
  const auto on_reply = [&](const HookReply& reply, Object& next) -> Attempt<bool> {
    if (const auto output = reply.find("output"); output != reply.end()) {
      TREATY_TRY_VOID(replace_output(run, hooks, state, work, output->value(), redirect));
      next["output"] = work.result.is_object() ? work.result : work.output;
    }
    TREATY_TRY(auto to, hooks.state_in(reply, "to_state"));
    if (to) redirect = std::move(to);
    return false;
  };
  co_return co_await hooks.call(state.hooks, "state_exit", std::move(details), on_reply);
}

Attempt<void> map_output(ExecutionContext& run, const State& state, const StateWork& work) {
  for (const auto& [name, source] : state.output_to_context) {
    TREATY_TRY(Dynamic value, render(source, run.scope(&work.output, &work.result)));
    if (name != "machine") run.members()[name] = std::move(value);
  }
  return {};
}

Attempt<const Transition*> first_transition(const ExecutionContext& run, const State& state,
                                            const StateExit& exit, bool only_about_result) {
  for (const Transition& transition : state.transitions) {
    if (only_about_result && !transition.names_result) continue;
    if (!transition.condition) return &transition;
    auto holds = transition.condition->holds(run.scope(&exit.output, &exit.result));
    if (!holds) {
      return fail("expression_error", "ExpressionError",
                  fmt::format("{}, in the condition: {}", holds.error(), transition.text));
    }
    if (*holds) return &transition;
  }
  return nullptr;
}

RunTask<NextStep> take(HookRunner& hooks, const State& state, std::string to) {
  if (state.hooks.empty()) co_return NextState{std::move(to)};
  const auto on_reply = [&](const HookReply& reply, Object& next) -> Attempt<bool> {
    TREATY_TRY(auto other, hooks.state_in(reply, "to_state"));
    if (other) to = std::move(*other);
    next["to"] = to;
    return false;
  };
  Object details = {{"from", state.name}, {"to", to}};
  TREATY_CO_TRY_VOID(co_await hooks.call(state.hooks, "transition", std::move(details), on_reply));
  co_return NextState{std::move(to)};
}

// By code, by type, by the two classes that the original knows, by default.
const std::string* handler_of(const State& state, const Object& error) {
  const auto named = [&](std::string_view name) -> const std::string* {
    for (const auto& [code, to] : state.on_error) {
      if (code == name) return &to;
    }
    return nullptr;
  };
  const std::string code = text_of(error, "code");
  const std::string type = text_of(error, "type");
  if (const auto* to = code.empty() ? nullptr : named(code)) return to;
  if (const auto* to = type.empty() ? nullptr : named(type)) return to;
  if (const auto* to = named(is_retryable(error) ? "RetryableError" : "RuntimeError")) return to;
  return named("default");
}

// The recovery state of the on_error hooks, if they name one.
RunTask<std::optional<std::string>> ask_for_recovery(HookRunner& hooks, const State& state,
                                                     const Object& error) {
  std::optional<std::string> recovery;
  const auto on_reply = [&](const HookReply& reply, Object&) -> Attempt<bool> {
    TREATY_TRY(recovery, hooks.state_in(reply, "recovery_state"));
    return recovery.has_value();
  };
  Object whole = error;
  whole["state"] = state.name;
  Object details = {{"state", state.name},
                    {"error", sentence_of(error)},
                    {"error_type", text_of(error, "type")},
                    {"error_info", std::move(whole)}};
  TREATY_CO_TRY_VOID(co_await hooks.call(state.hooks, "error", std::move(details), on_reply));
  co_return recovery;
}

// Section 7. `exit` is null for failures of the run.
RunTask<NextStep> route_error(ExecutionContext& run, HookRunner& hooks, const State& state,
                              const Object& error, const StateExit* exit) {
  if (exit != nullptr) {
    TREATY_CO_TRY(const Transition* const transition, first_transition(run, state, *exit, true));
    if (transition != nullptr) co_return co_await take(hooks, state, transition->to);
  }
  if (const std::string* to = handler_of(state, error)) {
    run.observe("error", state.name, sentence_of(error));
    co_return NextState{*to};
  }
  if (exit == nullptr || run.machine->settings.on_error_hook_for_all) {
    Attempt<std::optional<std::string>> recovery = co_await ask_for_recovery(hooks, state, error);
    if (!recovery) {
      RunFailure::Way& way = recovery.error().way;
      if (way == RunFailure::Way::routed) way = RunFailure::Way::unrouted;
      co_return std::unexpected(std::move(recovery.error()));
    }
    if (*recovery) {
      run.observe("error", state.name, sentence_of(error));
      co_return NextState{**recovery};
    }
  }
  co_return std::unexpected(RunFailure{.error = error, .way = RunFailure::Way::unrouted});
}

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
  const Dynamic* found = run.members().if_contains("wait_seconds");
  const Dynamic seconds = found == nullptr ? Dynamic(0) : *found;
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

RunTask<StateExit> conclude(ExecutionContext& run, HookRunner& hooks, const State& state,
                            StateWork work) {
  // Section 4, 3 and 4.
  if (const Object* error = error_in(work.result)) run.set_last_error(*error);
  std::optional<std::string> redirect;
  if (!state.hooks.empty()) {
    TREATY_CO_TRY_VOID(co_await call_exit_hooks(run, hooks, state, work, redirect));
  }

  // Section 4, 5.
  if (error_in(work.result) == nullptr) {
    TREATY_CO_TRY_VOID(map_output(run, state, work));
    if (state.kind == StateKind::final && state.output && !work.is_rendered) {
      TREATY_CO_TRY(work.output,
                    render_object(state.output, run.scope(&work.output, &work.result)));
    }
  }
  run.tool_loop.reset();
  StateExit exit{.result = std::move(work.result),
                 .output = std::move(work.output),
                 .redirect = std::move(redirect),
                 .left_to = std::move(work.left_to)};
  if (run.writer.is_kept()) {
    run.writer.gather(exit_line(run.step, exit));
    TREATY_CO_TRY_VOID(co_await run.checkpoint("state_exit", state.name, exit.output));
  }
  co_return exit;
}

RunTask<NextStep> leave(ExecutionContext& run, HookRunner& hooks, const State& state,
                        const StateExit& exit) {
  if (exit.redirect) co_return NextState{*exit.redirect};
  if (const Object* error = error_in(exit.result)) {
    co_return co_await route_error(run, hooks, state, *error, &exit);
  }
  if (exit.left_to) co_return co_await take(hooks, state, *exit.left_to);
  if (state.kind == StateKind::final) co_return MachineEnd{exit.output};
  TREATY_CO_TRY(const Transition* const transition, first_transition(run, state, exit, false));
  if (transition == nullptr) {
    co_return fail("no_transition", "NoTransitionError",
                   fmt::format("No transition of the state '{}' holds.", state.name));
  }
  co_return co_await take(hooks, state, transition->to);
}

RunTask<NextStep> route_failure(ExecutionContext& run, HookRunner& hooks, const State& state,
                                RunFailure failure) {
  run.tool_loop.reset();
  if (failure.way != RunFailure::Way::routed) co_return std::unexpected(std::move(failure));
  run.set_last_error(failure.error);
  co_return co_await route_error(run, hooks, state, failure.error, nullptr);
}

RunTask<WorkOrWaiting> perform(ExecutionContext& run, HookRunner& hooks, const State& state) {
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
