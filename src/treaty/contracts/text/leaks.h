// The leak filter: texts for people must not show the insides of a server (INV-04, ARL-09).
#pragma once

#include <string>
#include <string_view>

namespace treaty::contracts {

// What leaks, for a message: "a stack trace", "a file path"…; empty when nothing does. Prose,
// fractions, dates, `and/or` and web links pass.
std::string_view find_leak(std::string_view text);

// A file of a program below a directory: `src/core/plan.py`. Documents and links are none.
bool has_source_path(std::string_view text);

// Without the characters that are not visible, which would hide a leak from a filter alone, and
// with the plain ones for typographic spaces, hyphens and quotes.
std::string plain_text(std::string_view text);

}  // namespace treaty::contracts
