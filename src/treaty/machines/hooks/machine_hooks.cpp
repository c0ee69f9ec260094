#include "treaty/machines/hooks/machine_hooks.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "treaty/machines/run/agent_values.h"

namespace treaty {

namespace machines {
namespace {

using Answer = std::expected<HookReply, std::string>;

// What the event's method answers, but for the context.
HookReply call(MachineHooks& hooks, const HookEvent& event, Json& context) {
  const std::string_view kind = text_in(event, "event");
  const std::string_view state = text_in(event, "state");
  HookReply reply;
  if (kind == "machine_start") hooks.on_machine_start(context);
  if (kind == "machine_end") {
    reply["output"] = hooks.on_machine_end(context, value_in(event, "output"));
  }
  if (kind == "state_enter") hooks.on_state_enter(state, context);
  if (kind == "state_exit") {
    reply["output"] = hooks.on_state_exit(state, context, value_in(event, "output"));
  }
  if (kind == "transition") {
    const std::string_view to = text_in(event, "to");
    std::string chosen = hooks.on_transition(text_in(event, "from"), to, context);
    if (chosen != to) reply["to_state"] = chosen;
  }
  if (kind == "error") {
    const auto recovery = hooks.on_error(state, value_in(event, "error_info"), context);
    if (recovery) reply["recovery_state"] = *recovery;
  }
  if (kind == "action") hooks.on_action(state, text_in(event, "action"), context);
  if (kind == "tool_calls") hooks.on_tool_calls(state, value_in(event, "tool_calls"), context);
  if (kind == "tool_result") hooks.on_tool_result(state, value_in(event, "tool_result"), context);
  if (reply.contains("output") && reply["output"] == value_in(event, "output"))
    reply.erase("output");
  return reply;
}

// `context` with what is new in it, `unset` with the names that are gone.
void tell_changes(HookReply& reply, const boost::json::object& before,
                  const boost::json::object& after) {
  boost::json::object changed;
  for (const auto& [name, value] : after) {
    const Json* old = before.if_contains(name);
    if (old == nullptr || *old != value) changed[name] = value;
  }
  boost::json::array gone;
  for (const auto& member : before) {
    if (!after.contains(member.key())) gone.emplace_back(member.key());
  }
  if (!changed.empty()) reply["context"] = std::move(changed);
  if (!gone.empty()) reply["unset"] = std::move(gone);
}

class MachineHooksAdapter final : public Hook {
 public:
  explicit MachineHooksAdapter(std::shared_ptr<MachineHooks> hooks) : hooks_(std::move(hooks)) {}

  boost::asio::awaitable<Answer> handle(const HookEvent& event) override {
    try {
      co_return answer(event);
    } catch (const std::exception& exception) {
      co_return std::unexpected(fmt::format("the hook failed: {}", exception.what()));
    }
  }

 private:
  Answer answer(const HookEvent& event) {
    const Json before = value_in(event, "context");
    Json context = before.is_object() ? before : Json(boost::json::object());
    HookReply reply = call(*hooks_, event, context);
    if (!context.is_object()) {
      return std::unexpected("the hook failed: it left a context that is not an object");
    }
    if (before.is_object()) tell_changes(reply, before.get_object(), context.get_object());
    return reply;
  }

  std::shared_ptr<MachineHooks> hooks_;
};

}  // namespace

std::shared_ptr<Hook> make_hook(std::shared_ptr<MachineHooks> hooks) {
  return std::make_shared<MachineHooksAdapter>(std::move(hooks));
}

}  // namespace machines
}  // namespace treaty
