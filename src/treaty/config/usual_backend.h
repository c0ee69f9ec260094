// Whom agents ask that name nobody, and the agent `default` of a configuration without agents.
#pragma once

#include "treaty/config/sections/sections.h"

namespace treaty::config {

// The first provider of the file, else the first whose key is in the environment, else the built-in
// demo. The configuration's notes say which, and why.
void settle_backends(Reader& reader, Draft& draft);

}  // namespace treaty::config
