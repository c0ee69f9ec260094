// When two JSON values are the same: 1 is 1.0, and the order of members says nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "treaty/base/json.h"
#include "treaty/base/schema/budget.h"

namespace treaty::schema {

// What it says after the budget is spent means nothing.
bool is_equal(json::Value left, json::Value right, Budget& budget);

// The first element that equals an earlier one, and that one; their places in the array.
std::optional<std::pair<std::size_t, std::size_t>> find_repeated(json::Value array, Budget& budget);

}  // namespace treaty::schema
