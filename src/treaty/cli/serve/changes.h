// What differs between two configurations, for the operator who had it read again.
#pragma once

#include <string>
#include <vector>

#include "treaty/config/configuration.h"

namespace treaty::cli::serve {

// One sentence a difference, without secrets. Empty when nothing differs that a server knows.
std::vector<std::string> changes_between(const config::Configuration& before,
                                         const config::Configuration& after);

}  // namespace treaty::cli::serve
