// A graph as an SVG drawing: no scripts, no fonts from elsewhere, for light and dark pages.
#pragma once

#include <string>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

// The graph has at most kMostDrawnNodes and kMostDrawnEdges.
std::string svg_of(const Graph& graph);

}  // namespace treaty::machines
