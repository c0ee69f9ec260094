// In which row a state stands: below everything that leads to it, but for ways back.
#pragma once

#include <cstddef>
#include <vector>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

// A rank for each node, from 0; two ends of an edge have different ones unless they are one node.
std::vector<std::size_t> ranks_of(const Graph& graph);

}  // namespace treaty::machines
