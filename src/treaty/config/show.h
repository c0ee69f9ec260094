// The configuration in the words of treaty.yaml, with every default written out and every secret
// masked.
#pragma once

#include <string>

#include "treaty/base/yaml.h"
#include "treaty/config/configuration.h"

namespace treaty::config {

yaml::Node shown(const Configuration& configuration);

// The tree as treaty.yaml would have it: a dollar is $$, but for the schemas of tools.
std::string yaml_of(const yaml::Node& node);

}  // namespace treaty::config
