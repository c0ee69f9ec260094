// The filter of Assistant Response v1 (ARL-09): what a user interface never shows of the models,
// providers, databases and programs behind it.
#pragma once

#include <string_view>

namespace treaty::contracts {

// What the text shows, for a message: "a model id", "an SQL error"…; empty when nothing. Whatever
// find_leak() finds is among it. Prose, fractions, dates, `and/or` and web links pass.
std::string_view find_internals(std::string_view text);

// A provider's name in one sentence with a failure of it: "OpenAI returned an error". The name
// alone passes, and so does a failure of something else.
bool has_provider_failure(std::string_view text);

// How many tokens a model read, wrote or may use: "1,532 tokens". A few tokens of another kind
// pass.
bool has_token_count(std::string_view text);

}  // namespace treaty::contracts
