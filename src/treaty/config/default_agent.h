// The agent `default` of a configuration that has no agents.
#pragma once

#include "treaty/config/sections/sections.h"

namespace treaty::config {

// On the first provider of the file, else on the first whose key is in the environment, else on the
// built-in demo. The configuration's notes say which, and why.
void add_default_agent(Reader& reader, Draft& draft);

}  // namespace treaty::config
