// Identifiers that nobody can guess.
#pragma once

#include <string>

namespace treaty {

// A version 4 UUID from the system's random source, in lower case.
std::string new_uuid();

}  // namespace treaty
