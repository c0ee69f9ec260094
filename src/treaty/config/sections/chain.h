// `backends` of an agent: whom it asks, in which order, and after which failures.
#pragma once

#include <string>
#include <vector>

#include "treaty/config/sections/sections.h"

namespace treaty::config {

void take_chain(Reader& reader, const yaml::Node& node, turns::Agent& agent, Draft& draft);

void add_chain_keys(std::vector<std::string>& keys, const std::string& section);

}  // namespace treaty::config
