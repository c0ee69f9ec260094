// Hooks as C++ classes: derive from MachineHooks, override what you want to see, register it by
// name.
//
//   registry["careful"] = [](const machines::HookOrder&) {
//     return machines::make_hook(std::make_shared<Careful>());
//   };
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/machines/hooks/hook.h"

namespace treaty {

using Json = boost::json::value;

// Called on the machine's event loop: whoever takes long holds up others. `context` is an object
// and may be changed; what is changed or removed in it is changed in the machine's. What a method
// throws is the machine's `hook_error`. machines.md section 8 tells when each is called.
class MachineHooks {
 public:
  virtual ~MachineHooks() = default;

  // Of `lifecycle_hooks`.
  virtual void on_machine_start(Json& /*context*/) {}
  virtual Json on_machine_end(Json& /*context*/, Json output) {
    return output;
  }  // The machine's output.

  // Of a state's `hooks`.
  virtual void on_state_enter(std::string_view /*state*/, Json& /*context*/) {}

  // `output` of an agent is its whole AgentResult. What it returns is the new one, so that an error
  // is gone unless it is still in it; null changes nothing; a string is the state to go to.
  virtual Json on_state_exit(std::string_view /*state*/, Json& /*context*/, Json output) {
    return output;
  }

  // The state to go to.
  virtual std::string on_transition(std::string_view /*from*/, std::string_view to,
                                    Json& /*context*/) {
    return std::string(to);
  }

  // The state that deals with it; nothing: it stands. `error` is {code, type, message, …, state}.
  virtual std::optional<std::string> on_error(std::string_view /*state*/, const Json& /*error*/,
                                              Json& /*context*/) {
    return std::nullopt;
  }

  virtual void on_action(std::string_view /*state*/, std::string_view /*action*/,
                         Json& /*context*/) {}
  virtual void on_tool_calls(std::string_view /*state*/, const Json& /*tool_calls*/,
                             Json& /*context*/) {}
  virtual void on_tool_result(std::string_view /*state*/, const Json& /*tool_result*/,
                              Json& /*context*/) {}
};

namespace machines {

std::shared_ptr<Hook> make_hook(std::shared_ptr<MachineHooks> hooks);

}  // namespace machines
}  // namespace treaty
