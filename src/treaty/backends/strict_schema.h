// Whether providers can be held to a JSON Schema that somebody wrote: OutputSchema::strict.
#pragma once

#include "treaty/base/json.h"

namespace treaty::backends {

// The strict modes of providers take closed objects, each of whose members is required, and few
// keywords: those that all of them document. A schema with others is a request, and answers are
// checked against it here.
bool fits_strict_modes(json::Value schema);

}  // namespace treaty::backends
