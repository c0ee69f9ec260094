#include "treaty/machines/hooks/built_in_hooks.h"

#include "treaty/machines/hooks/command_hook.h"
#include "treaty/machines/hooks/rate_limit_hook.h"
#include "treaty/machines/hooks/webhook_hook.h"

namespace treaty::machines {

HookRegistry built_in_hooks(const BuiltInHooks& options) {
  return {
      {"logging", [log = options.log](const HookOrder&) { return make_logging_hook(log); }},
      {"metrics", [log = options.log](const HookOrder&) { return make_metrics_hook(log); }},
      {"webhook", [web = WebhookOptions{.client = options.client, .log = options.log}](
                      const HookOrder& order) { return make_webhook(order, web); }},
      {"command", make_command_hook},
      {"rate-limit", make_rate_limit_hook},
  };
}

}  // namespace treaty::machines
