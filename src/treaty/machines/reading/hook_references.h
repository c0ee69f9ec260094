// References to hooks: a name, {name, args?}, or a list of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

std::vector<HookReference> read_hooks(Reader& reader, const Place& place);

// The built-in policy redirects on its own.
struct PolicyState {
  std::string_view argument;  // For what: minute, hour, day, fatal.
  std::string state;
};

// The states that the policy knows, whether or not the machine has them. Nothing for other hooks.
std::vector<PolicyState> policy_states(const HookReference& hook);

}  // namespace treaty::machines
