// Items of work as they are given: one JSON value, a JSON list, or a value a line.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"

namespace treaty::cli {

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
