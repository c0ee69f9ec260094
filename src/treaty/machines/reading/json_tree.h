// A JSON text as the tree that YAML is read into.
#pragma once

#include <expected>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/base/yaml.h"

namespace treaty::machines {

// `text` is grammatical JSON. The error's `where` is "line:column".
std::expected<yaml::Node, Error> json_tree(std::string_view text, const yaml::ReadOptions& options);

}  // namespace treaty::machines
