// Hooks: what they are told, and what their replies change (machines.md section 8).
#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

Attempt<Hook*> ExecutionRun::hook_of(const HookReference& reference) {
  json::Writer writer;
  json::write(writer, reference.arguments);
  const std::string key = reference.name + writer.take();
  if (const auto known = hooks_.find(key); known != hooks_.end()) return known->second.get();
  const auto registered = world_.hooks.find(reference.name);
  if (registered == world_.hooks.end()) {
    return hook_failure(fmt::format("There is no hook '{}'.", reference.name));
  }
  auto made = registered->second({.arguments = reference.arguments,
                                  .directory = machine_->directory,
                                  .has_state = [machine = machine_](std::string_view state) {
                                    return machine->find(state) != nullptr;
                                  }});
  if (!made) return hook_failure(fmt::format("Hook '{}': {}", reference.name, made.error()));
  return hooks_.emplace(key, std::move(*made)).first->second.get();
}

// A list is a pipeline: each one sees what those before it changed.
ExecutionRun::Task<void> ExecutionRun::tell(const std::vector<HookReference>& hooks,
                                            std::string_view event, Object details,
                                            const OnReply& on_reply) {
  for (const HookReference& reference : hooks) {
    Attempt<Hook*> hook = hook_of(reference);
    if (!hook) co_return std::unexpected(std::move(hook.error()));
    if ((*hook)->is_outside()) {
      if (auto written = co_await flush(); !written) co_return written;
    }
    HookEvent told = {{"event", event}, {"execution_id", start_.execution}};
    for (const auto& member : details) told[member.key()] = member.value();
    told["context"] = context_;
    const auto reply = co_await (*hook)->handle(told);
    if (auto going = check_stopping(); !going) co_return going;
    if (!reply) {
      co_return hook_failure(fmt::format("Hook '{}': {}", reference.name, reply.error()));
    }
    // With what follows from the reply: a script that is gone on with counts those that counted.
    if (world_.notes_hooks) notebook_.gather(hook_line(step_, reference.name, event));
    if (auto merged = merge(*reply); !merged) co_return merged;
    if (!on_reply) continue;
    Attempt<bool> is_enough = on_reply(*reply, details);
    if (!is_enough) co_return std::unexpected(std::move(is_enough.error()));
    if (*is_enough) co_return Attempt<void>();
  }
  co_return Attempt<void>();
}

Attempt<void> ExecutionRun::merge(const HookReply& reply) {
  Object& context = context_.get_object();
  const auto changed = reply.find("context");
  if (changed != reply.end() && !changed->value().is_null()) {
    const auto* members = changed->value().if_object();
    if (members == nullptr) return hook_failure("A hook answered a context that is no object.");
    for (const auto& member : *members) {
      if (member.key() != "machine") context[member.key()] = member.value();
    }
  }
  const auto removed = reply.find("unset");
  if (removed != reply.end() && !removed->value().is_null()) {
    const auto* names = removed->value().if_array();
    if (names == nullptr) return hook_failure("A hook answered an `unset` that is no list.");
    for (const Value& name : *names) {
      if (!name.is_string() || name.get_string() == "machine") continue;
      if (const auto found = context.find(name.get_string()); found != context.end()) {
        context.stable_erase(found);
      }
    }
  }
  return {};
}

Attempt<std::optional<std::string>> ExecutionRun::state_in(const HookReply& reply,
                                                           std::string_view member) const {
  const auto found = reply.find(member);
  if (found == reply.end() || found->value().is_null()) return std::nullopt;
  const auto* name = found->value().if_string();
  if (name == nullptr) {
    return hook_failure(fmt::format("A hook answered a `{}` that is no text.", member));
  }
  if (auto known = check_state(std::string(*name)); !known) {
    return std::unexpected(std::move(known.error()));
  }
  return std::string(*name);
}

Attempt<void> ExecutionRun::check_state(const std::string& name) const {
  if (machine_->find(name) != nullptr) return {};
  return fail("unknown_state", "UnknownStateError",
              fmt::format("A hook named the state '{}', which the machine does not have.", name));
}

}  // namespace treaty::machines
