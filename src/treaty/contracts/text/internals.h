// The filter of Assistant Response v1 (ARL-09): what a user interface never shows of the models,
// providers, databases and programs behind it.
#pragma once

#include <string_view>

namespace treaty::contracts {

// What the text shows, for a message: "a model id", "an SQL error"…; empty when nothing. Whatever
// find_leak() finds is among it. Prose, fractions, dates, `and/or` and web links pass.
std::string_view find_internals(std::string_view text);

// What a program prints when it fails: "a crash of a program", "an exit code", "an exception
// name"…; empty when there is none. A failure that is described in words passes.
std::string_view find_failure(std::string_view text);

// A line of a log: its level is where a logger writes it. A time of day in a sentence passes.
bool has_log_line(std::string_view text);

// An id that Sentry gave to an event or an issue. A numbered guard passes.
bool has_sentry_id(std::string_view text);

// The name of a model and its version in prose: "Grok 4". Most models are found by their ids.
bool names_model(std::string_view text);

// A provider's name in one sentence with a failure of it: "OpenAI returned an error". The name
// alone passes, and so does a failure of something else.
bool has_provider_failure(std::string_view text);

// How many tokens a model read, wrote or may use: "1,532 tokens". Tokens of games and machines
// pass.
bool has_token_count(std::string_view text);

}  // namespace treaty::contracts
