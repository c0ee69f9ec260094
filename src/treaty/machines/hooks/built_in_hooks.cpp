#include "treaty/machines/hooks/built_in_hooks.h"

namespace treaty::machines {

HookRegistry built_in_hooks(const BuiltInHooks& options) {
  return {
      {"logging", [log = options.log](const HookOrder&) { return make_logging_hook(log); }},
      {"metrics", [log = options.log](const HookOrder&) { return make_metrics_hook(log); }},
      {"webhook", [options](const HookOrder& order) { return make_webhook(order, options); }},
      {"command", make_command_hook},
      {"rate-limit", make_rate_limit_hook},
  };
}

}  // namespace treaty::machines
