#include "treaty/machines/run/hook_runner.h"

#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"

namespace treaty::machines {

namespace asio = boost::asio;

Attempt<Hook*> HookRunner::find_or_make(const HookReference& reference) {
  const std::string key = reference.name + json::to_json(reference.arguments);
  if (const auto known = hooks_.find(key); known != hooks_.end()) return known->second.get();
  const auto registered = run_.world.hooks.find(reference.name);
  if (registered == run_.world.hooks.end()) {
    return hook_failure(fmt::format("There is no hook '{}'.", reference.name));
  }
  auto made = registered->second({.arguments = reference.arguments,
                                  .directory = run_.machine->directory,
                                  .has_state = [machine = run_.machine](std::string_view state) {
                                    return machine->find(state) != nullptr;
                                  }});
  if (!made) return hook_failure(fmt::format("Hook '{}': {}", reference.name, made.error()));
  return hooks_.emplace(key, std::move(*made)).first->second.get();
}

// The timeout of a state bounds the hooks that are called for its work. Those that are called about
// a state that took too long, or has ended, are not cut.
double HookRunner::deadline_of(std::string_view event) const {
  const bool is_work = event == "state_enter" || event == "action" || event == "tool_calls" ||
                       event == "tool_result" || event == "state_exit";
  return is_work && run_.world.timeline.now() < run_.deadline ? run_.deadline : kNever;
}

RunTask<void> HookRunner::call(const std::vector<HookReference>& hooks, std::string_view event,
                               Object details, const OnReply& on_reply) {
  for (const HookReference& reference : hooks) {
    TREATY_CO_TRY(Hook* const hook, find_or_make(reference));
    if (hook->is_outside()) TREATY_CO_TRY_VOID(co_await run_.flush());
    HookEvent told = {{"event", event}, {"execution_id", run_.start.execution}};
    for (const auto& member : details) told[member.key()] = member.value();
    told["context"] = run_.context;
    std::expected<HookReply, std::string> reply;
    const bool is_in_time = co_await run_.world.timeline.within(
        deadline_of(event),
        [&]() -> asio::awaitable<void> { reply = co_await hook->handle(told); });
    TREATY_CO_TRY_VOID(run_.check_stopping());
    if (!is_in_time) {
      co_return std::unexpected(RunFailure{.error = state_timeout(run_.path.back())});
    }
    if (!reply) {
      co_return hook_failure(fmt::format("Hook '{}': {}", reference.name, reply.error()));
    }
    // Written together with what follows from the reply: a resumed script counts what took effect.
    if (run_.world.notes_hooks) run_.writer.gather(hook_line(run_.step, reference.name, event));
    TREATY_CO_TRY_VOID(merge(*reply));
    if (!on_reply) continue;
    TREATY_CO_TRY(const bool is_enough, on_reply(*reply, details));
    if (is_enough) co_return Attempt<void>();
  }
  co_return Attempt<void>();
}

Attempt<void> HookRunner::merge(const HookReply& reply) {
  Object& context = run_.members();
  if (const Dynamic* changed = reply.if_contains("context"); changed && !changed->is_null()) {
    const auto* members = changed->if_object();
    if (members == nullptr) return hook_failure("A hook answered a context that is no object.");
    for (const auto& member : *members) {
      if (member.key() != "machine") context[member.key()] = member.value();
    }
  }
  if (const Dynamic* removed = reply.if_contains("unset"); removed && !removed->is_null()) {
    const auto* names = removed->if_array();
    if (names == nullptr) return hook_failure("A hook answered an `unset` that is no list.");
    for (const Dynamic& name : *names) {
      if (!name.is_string() || name.get_string() == "machine") continue;
      run_.erase_member(name.get_string());
    }
  }
  return {};
}

Attempt<std::optional<std::string>> HookRunner::state_in(const HookReply& reply,
                                                         std::string_view member) const {
  const Dynamic found = value_in(reply, member);
  if (found.is_null()) return std::nullopt;
  const auto* name = found.if_string();
  if (name == nullptr) {
    return hook_failure(fmt::format("A hook answered a `{}` that is no text.", member));
  }
  TREATY_TRY_VOID(check_state(*name));
  return std::string(*name);
}

Attempt<void> HookRunner::check_state(std::string_view name) const {
  if (run_.machine->find(name) != nullptr) return {};
  return fail("unknown_state", "UnknownStateError",
              fmt::format("A hook named the state '{}', which the machine does not have.", name));
}

}  // namespace treaty::machines
