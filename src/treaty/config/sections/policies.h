// `dispatch`: how patiently a backend is asked. It may stand on a provider, on an agent and on an
// entry of `backends`; what is nearer to the call wins, key by key.
#pragma once

#include <string_view>
#include <vector>

#include "treaty/config/configuration.h"
#include "treaty/config/reader.h"

namespace treaty::config {

void take_policy(ConfigReader& reader, const yaml::Node& node, PolicyOverrides& overrides);

// The policy with what is written in the place of what it was.
dispatch::Policy overridden(dispatch::Policy policy, const PolicyOverrides& overrides);

std::vector<std::string_view> policy_keys();

}  // namespace treaty::config
