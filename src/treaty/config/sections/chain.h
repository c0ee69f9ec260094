// `backends` of an agent: whom it asks, in which order, and after which failures.
#pragma once

#include <string>
#include <vector>

#include "treaty/config/sections/sections.h"

namespace treaty::config {

void take_chain(Reader& reader, const yaml::Node& node, turns::Agent& agent, Draft& draft);

std::vector<std::string> chain_keys();

}  // namespace treaty::config
