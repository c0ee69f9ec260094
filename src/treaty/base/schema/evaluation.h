// Asks a program about a value.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "treaty/base/schema/budget.h"
#include "treaty/base/schema/program.h"

namespace treaty::schema {

// When two JSON values are the same: 1 is 1.0, and the order of members says nothing. What it says
// after the budget is spent means nothing.
bool is_equal(json::Value left, json::Value right, Budget& budget);

// The first element that equals an earlier one, and that one; their places in the array.
std::optional<std::pair<std::size_t, std::size_t>> find_repeated(json::Value array, Budget& budget);

// What does not fit, in words; nothing when the value fits the first of the nodes.
std::optional<Schema::Mismatch> find_mismatch(const std::vector<SchemaNode>& nodes,
                                              json::Value value);

}  // namespace treaty::schema
