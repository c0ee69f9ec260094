// Calls for tests of what renders and runs them.
#pragma once

#include <rapidcheck.h>

#include "treaty/backends/call.h"

namespace treaty::testing {

// A user's text, and nothing else.
backends::Call simple_call();

// System text, an image, a tool, two calls of it with their results (one failed), and a last word.
backends::Call conversation();

// Any history in which every tool call is answered, with odd ids, arguments, schemas and bytes.
rc::Gen<backends::Call> any_call();

}  // namespace treaty::testing
