// The hooks that every machine can name: logging, metrics, webhook, command, rate-limit.
#pragma once

#include <memory>

#include "treaty/http/client.h"
#include "treaty/machines/hooks/hook.h"
#include "treaty/machines/hooks/watching_hooks.h"

namespace treaty::machines {

struct BuiltInHooks {
  // For webhooks, on the event loop that the machines run on. A server gives one with a guard;
  // without any, webhooks fail.
  std::shared_ptr<http::Client> client{};
  HookLog log{};  // A line for people, without its end.
};

HookRegistry built_in_hooks(const BuiltInHooks& options);

}  // namespace treaty::machines
