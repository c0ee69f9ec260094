// Calls hooks and applies their replies (machines.md section 8).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/hooks/hook.h"
#include "treaty/machines/run/execution_context.h"

namespace treaty::machines {

// The hooks of one execution. Each one is made when it is first called and lives as long as the
// execution. Belongs to the event loop of the execution.
class HookRunner {
 public:
  explicit HookRunner(ExecutionContext& run) : run_(run) {}

  // Sees a reply after its changes of the context. May change the details that the next hook gets.
  // True: no further hook is called.
  using OnReply = std::function<Attempt<bool>(const HookReply& reply, Object& details)>;

  // A list of hooks is a pipeline: each one sees what those before it changed.
  RunTask<void> call(const std::vector<HookReference>& hooks, std::string_view event,
                     Object details, const OnReply& on_reply = {});

  // Applies `context` and `unset` of a reply.
  Attempt<void> merge(const HookReply& reply);

  // A state that a reply names; nothing when it names none.
  Attempt<std::optional<std::string>> state_in(const HookReply& reply,
                                               std::string_view member) const;
  Attempt<void> check_state(std::string_view name) const;

 private:
  Attempt<Hook*> find_or_make(const HookReference& reference);
  double deadline_of(std::string_view event) const;

  ExecutionContext& run_;
  std::map<std::string, std::shared_ptr<Hook>, std::less<>> hooks_{};
};

}  // namespace treaty::machines
