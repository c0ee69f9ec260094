// How an execution ended, for programs and for people.
#pragma once

#include <optional>
#include <string>

#include "treaty/machines/journal/history.h"

namespace treaty::cli {

// One line of JSON: status, output, path, error, calls, waits, channel; `hooks` of a simulation.
std::string outcome_json(const machines::Outcome& outcome, const machines::List* hooks);

// What it came to, and what to do next. `options` are those that the next command needs to find it;
// nothing when it is not kept.
std::string outcome_text(const machines::Outcome& outcome,
                         const std::optional<std::string>& options);

constexpr int kMachineWaits = 3;

int exit_code_of(const machines::Outcome& outcome);

}  // namespace treaty::cli
