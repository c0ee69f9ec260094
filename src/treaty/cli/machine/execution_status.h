// Where an execution stands, in a word and a sentence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/machines.h"

namespace treaty::cli {

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
