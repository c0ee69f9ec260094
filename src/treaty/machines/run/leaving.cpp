// What follows from a state's work: hooks, the context, the next state (machines.md sections 4
// and 7).
#include <fmt/format.h>

#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

const Object* error_in(const Value& result) {
  const auto* object = result.if_object();
  return object == nullptr ? nullptr : error_of(*object);
}

}  // namespace

ExecutionRun::Task<Exit> ExecutionRun::conclude(const State& state, Work work) {
  // Section 4, 3 and 4.
  if (const Object* error = error_in(work.result)) remember_error(*error);
  std::optional<std::string> redirect;
  Attempt<void> going = co_await show_exit(state, work, redirect);
  if (!going) co_return std::unexpected(std::move(going.error()));

  // Section 4, 5.
  if (error_in(work.result) == nullptr) {
    going = map_output(state, work);
    if (going && state.kind == StateKind::final && state.output && !work.is_rendered) {
      auto rendered = render_object(state.output, scope(&work.output, &work.result));
      if (!rendered) co_return std::unexpected(std::move(rendered.error()));
      work.output = std::move(*rendered);
    }
    if (!going) co_return std::unexpected(std::move(going.error()));
  }
  loop_.reset();
  Exit exit{.result = std::move(work.result),
            .output = std::move(work.output),
            .redirect = std::move(redirect),
            .left_to = std::move(work.left_to)};
  if (notebook_.is_kept()) {
    notebook_.gather(exit_line(step_, exit));
    going = co_await checkpoint("state_exit", state.name, exit.output);
    if (!going) co_return std::unexpected(std::move(going.error()));
  }
  co_return exit;
}

ExecutionRun::Task<void> ExecutionRun::show_exit(const State& state, Work& work,
                                                 std::optional<std::string>& redirect) {
  if (state.hooks.empty()) co_return Attempt<void>();
  const auto* result = work.result.if_object();
  if (result != nullptr && !state.tool_loop && result->contains("tool_calls")) {
    Object details = {{"state", state.name}, {"tool_calls", result->at("tool_calls")}};
    if (auto told = co_await tell(state.hooks, "tool_calls", std::move(details)); !told) {
      co_return told;
    }
  }
  Object details = {{"state", state.name}};
  details["output"] = result != nullptr ? work.result : work.output;
  co_return co_await tell(state.hooks, "state_exit", std::move(details),
                          [&](const HookReply& reply, Object& next) -> Attempt<bool> {
                            if (const auto output = reply.find("output"); output != reply.end()) {
                              auto done = replace_output(state, work, output->value(), redirect);
                              if (!done) return std::unexpected(std::move(done.error()));
                              next["output"] = work.result.is_object() ? work.result : work.output;
                            }
                            auto to = state_in(reply, "to_state");
                            if (!to) return std::unexpected(std::move(to.error()));
                            if (*to) redirect = std::move(*to);
                            return false;
                          });
}

Attempt<void> ExecutionRun::replace_output(const State& state, Work& work, const Value& output,
                                           std::optional<std::string>& redirect) {
  if (output.is_null()) return {};
  if (const auto* to = output.if_string()) {
    if (auto known = check_state(std::string(*to)); !known) return known;
    redirect = std::string(*to);
    return {};
  }
  const auto* object = output.if_object();
  if (object == nullptr) {
    return hook_failure(
        "on_state_exit answered an output that is neither an object nor the name "
        "of a state.");
  }
  const Value before = work.result.is_object() ? work.result : work.output;
  if (templates::are_equal(before, output)) return {};
  const bool has_error = object->contains("error") && object->at("error").is_object();
  if (!state.agent && !has_error) {  // Not an AgentResult, whatever its members are called.
    work.output = *object;
    return {};
  }
  Object result = coerce(output);
  work.output = payload_of(result);
  work.is_rendered = false;
  if (const Object* error = error_of(result)) remember_error(*error);
  work.result = std::move(result);
  return {};
}

Attempt<void> ExecutionRun::map_output(const State& state, const Work& work) {
  if (state.output_to_context.empty()) return {};
  for (const auto& [name, source] : state.output_to_context) {
    auto value = render(source, scope(&work.output, &work.result));
    if (!value) return std::unexpected(std::move(value.error()));
    if (name != "machine") context_.get_object()[name] = std::move(*value);
  }
  return {};
}

// Section 4, 6.
ExecutionRun::Task<ExecutionRun::Onward> ExecutionRun::leave(const State& state, const Exit& exit) {
  if (exit.redirect) co_return Onward(To{*exit.redirect});
  if (const Object* error = error_in(exit.result)) {
    co_return co_await route_error(state, *error, &exit);
  }
  if (exit.left_to) co_return co_await take(state, *exit.left_to);
  if (state.kind == StateKind::final) co_return Onward(End{exit.output});
  Attempt<const Transition*> transition = first_transition(state, exit, false);
  if (!transition) co_return std::unexpected(std::move(transition.error()));
  if (*transition == nullptr) {
    co_return fail("no_transition", "NoTransitionError",
                   fmt::format("No transition of the state '{}' holds.", state.name));
  }
  co_return co_await take(state, (*transition)->to);
}

Attempt<const Transition*> ExecutionRun::first_transition(const State& state, const Exit& exit,
                                                          bool only_about_result) const {
  for (const Transition& transition : state.transitions) {
    if (only_about_result && !transition.names_result) continue;
    if (!transition.condition) return &transition;
    auto holds = transition.condition->holds(scope(&exit.output, &exit.result));
    if (!holds) {
      return fail("expression_error", "ExpressionError",
                  fmt::format("{}, in the condition: {}", holds.error(), transition.text));
    }
    if (*holds) return &transition;
  }
  return nullptr;
}

ExecutionRun::Task<ExecutionRun::Onward> ExecutionRun::take(const State& state, std::string to) {
  if (state.hooks.empty()) co_return Onward(To{std::move(to)});
  Object details = {{"from", state.name}, {"to", to}};
  Attempt<void> told = co_await tell(state.hooks, "transition", std::move(details),
                                     [&](const HookReply& reply, Object& next) -> Attempt<bool> {
                                       auto other = state_in(reply, "to_state");
                                       if (!other) return std::unexpected(std::move(other.error()));
                                       if (*other) to = std::move(**other);
                                       next["to"] = to;
                                       return false;
                                     });
  if (!told) co_return std::unexpected(std::move(told.error()));
  co_return Onward(To{std::move(to)});
}

namespace {

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

}  // namespace

// Section 7. `exit` is null for failures of the run.
ExecutionRun::Task<ExecutionRun::Onward> ExecutionRun::route_error(const State& state,
                                                                   const Object& error,
                                                                   const Exit* exit) {
  if (exit != nullptr) {
    Attempt<const Transition*> transition = first_transition(state, *exit, true);
    if (!transition) co_return std::unexpected(std::move(transition.error()));
    if (*transition != nullptr) co_return co_await take(state, (*transition)->to);
  }
  if (const std::string* to = handler_of(state, error)) {
    look("error", state.name, sentence_of(error));
    co_return Onward(To{*to});
  }
  if (exit == nullptr || machine_->settings.on_error_hook_for_all) {
    Attempt<std::optional<std::string>> recovery = co_await ask_for_recovery(state, error);
    if (!recovery) {
      recovery.error().way = recovery.error().way == Failure::Way::routed ? Failure::Way::unrouted
                                                                          : recovery.error().way;
      co_return std::unexpected(std::move(recovery.error()));
    }
    if (*recovery) {
      look("error", state.name, sentence_of(error));
      co_return Onward(To{**recovery});
    }
  }
  co_return std::unexpected(Failure{.error = error, .way = Failure::Way::unrouted});
}

asio::awaitable<std::expected<ExecutionRun::Onward, Failure>> ExecutionRun::route_failure(
    const State& state, Failure failure) {
  loop_.reset();
  if (failure.way != Failure::Way::routed) co_return std::unexpected(std::move(failure));
  remember_error(failure.error);
  co_return co_await route_error(state, failure.error, nullptr);
}

ExecutionRun::Task<std::optional<std::string>> ExecutionRun::ask_for_recovery(const State& state,
                                                                              const Object& error) {
  std::optional<std::string> recovery;
  Object whole = error;
  whole["state"] = state.name;
  Object details = {{"state", state.name},
                    {"error", sentence_of(error)},
                    {"error_type", text_of(error, "type")},
                    {"error_info", std::move(whole)}};
  Attempt<void> told = co_await tell(state.hooks, "error", std::move(details),
                                     [&](const HookReply& reply, Object&) -> Attempt<bool> {
                                       auto to = state_in(reply, "recovery_state");
                                       if (!to) return std::unexpected(std::move(to.error()));
                                       recovery = std::move(*to);
                                       return recovery.has_value();
                                     });
  if (!told) co_return std::unexpected(std::move(told.error()));
  co_return recovery;
}

}  // namespace treaty::machines
