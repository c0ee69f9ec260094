// Variables that a template uses and nobody gives a value.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/expression.h"

namespace treaty::templates::blocks {

// Each name once, where it first stands. Known are the four of every scope, those in `bound`, what
// the template sets anywhere, and within a loop its variables and `loop`.
std::vector<Fault> unknown_names(const Body& body, std::span<const std::string_view> bound);

}  // namespace treaty::templates::blocks
