// JSON that is given on the command line: as it is, or of @FILE, or of standard input; and items of
// work, each one JSON value.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/machines/machine.h"

namespace treaty::cli {

// `what` names it in the failure.
Result<machines::Dynamic> read_json_argument(std::string_view what, const std::string& argument);

// Indented, for a terminal.
std::string json_lines_of(const machines::Dynamic& value);

// Each one compact JSON on one line. A text that is one JSON list is its elements; else every line
// that is not blank is an item. The error names the line, for people.
std::expected<std::vector<std::string>, std::string> read_items(std::string_view text);

// What a machine gets for an item: an object as it is, anything else as {"item": …}.
machines::Object input_of_item(std::string_view data);

// Names of pools become parts of execution ids.
bool is_pool_name(std::string_view text);

// The execution of an item: whoever takes the item up again goes on with it.
std::string execution_of(std::string_view pool, std::string_view item);

}  // namespace treaty::cli
