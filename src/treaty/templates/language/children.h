// Walking trees.
#pragma once

#include <functional>

#include "treaty/templates/language/tree.h"

namespace treaty::templates::language {

// Everything directly below `node`, in the order of the text.
void for_each_child(const Node& node, const std::function<void(const Node&)>& visit);

}  // namespace treaty::templates::language
