// The leak filter (ARL-09): texts for people must not show the insides of a server.
#pragma once

#include <string_view>

namespace treaty::contracts {

// What leaks, for a message: "a stack trace", "a file path"…; empty when nothing does. Prose,
// fractions, dates, `and/or` and web links pass.
std::string_view find_leak(std::string_view text);

}  // namespace treaty::contracts
