// Renders blocks to a text, within bounds of steps and size.
#pragma once

#include <expected>
#include <string>

#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/scope.h"

namespace treaty::templates::blocks {

// The error is for people.
std::expected<std::string, std::string> render(const Body& body, const Scope& scope);

}  // namespace treaty::templates::blocks
