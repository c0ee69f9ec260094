// Hooks that only look on: `logging` tells each event, `metrics` counts them.
#pragma once

#include <functional>
#include <string_view>

#include "treaty/machines/hooks/hook.h"

namespace treaty::machines {

// Takes a line, without its end.
using HookLog = std::function<void(std::string_view)>;

// "machine x1 state_enter draft": what happened, without what anybody said.
std::string line_about(const HookEvent& event);

std::shared_ptr<Hook> make_logging_hook(HookLog log);

// Says how often each event came in each state, once nothing more can come.
std::shared_ptr<Hook> make_metrics_hook(HookLog log);

}  // namespace treaty::machines
