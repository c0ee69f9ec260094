// The text of a machine file as a tree: JSON or YAML, merge keys (`<<`) applied. What is wrong with
// the text itself is MCH-01.
#pragma once

#include <expected>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/base/yaml.h"
#include "treaty/machines/load.h"

namespace treaty::machines {

std::expected<yaml::Node, Diagnostic> read_source(std::string_view text);

}  // namespace treaty::machines
