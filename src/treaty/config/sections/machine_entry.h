// An entry of a chain that is a machine: the file is read and checked with the configuration, and
// so are the machines that it names.
#pragma once

#include <string>

#include "treaty/config/sections/sections.h"

namespace treaty::config {

// `choice` with the machine as its backend. What is wrong with the file is noted with its places.
dispatch::Choice take_machine(Reader& reader, const yaml::Node& node, const std::string& agent,
                              dispatch::Choice choice, Draft& draft);

}  // namespace treaty::config
