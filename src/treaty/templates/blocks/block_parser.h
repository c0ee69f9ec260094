// Reads a text of the Jinja subset into blocks.
#pragma once

#include <expected>
#include <string_view>

#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/expression.h"

namespace treaty::templates::blocks {

std::expected<Body, Fault> parse_blocks(std::string_view text);

}  // namespace treaty::templates::blocks
