// How an execution ended, and where one stands, for programs and for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/machines/journal/history.h"
#include "treaty/store/machines.h"

namespace treaty::cli {

// One line of JSON: status, output, path, error, calls, waits, channel; `hooks` of a simulation.
std::string outcome_json(const machines::Outcome& outcome, const machines::List* hooks);

// What it came to, and what to do next. `options` are those that the next command needs to find it;
// nothing when it is not kept.
std::string outcome_text(const machines::Outcome& outcome,
                         const std::optional<std::string>& options);

constexpr int kMachineWaits = 3;

int exit_code_of(const machines::Outcome& outcome);

enum class ExecutionStatus : std::uint8_t { running, waiting, completed, failed, interrupted };

std::string_view name_of(ExecutionStatus status);
ExecutionStatus status_of(const store::ExecutionRow& row);

// The channel that it waits on: its own, or that of a machine that it runs. Empty: none.
std::string channel_of(const store::ExecutionRow& row, std::span<const store::ExecutionRow> all);

// Machines that it has started, and theirs: their ids begin with its own and a dot.
bool is_below(std::string_view execution, std::string_view above);

// "waiting on approval".
std::string sentence_of(const store::ExecutionRow& row, std::string_view channel);

std::string executions_table(std::span<const store::ExecutionRow> rows,
                             std::span<const store::ExecutionRow> all);

// One line of JSON, without its end.
std::string execution_json(const store::ExecutionRow& row, std::string_view channel);

}  // namespace treaty::cli
