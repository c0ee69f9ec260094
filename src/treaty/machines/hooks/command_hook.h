// A hook that is a program: one process for a machine's run, JSON lines both ways. Each event has
// an `id`, which the reply repeats.
#pragma once

#include "treaty/machines/hooks/hook.h"

namespace treaty::machines {

// args: {command: [argv], timeout: 5}.
std::expected<std::shared_ptr<Hook>, std::string> make_command_hook(const HookOrder& order);

}  // namespace treaty::machines
