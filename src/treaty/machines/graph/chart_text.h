// A graph as a drawing, or as the text of a chart for programs that draw it themselves. Pure.
#pragma once

#include <string>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

std::string mermaid_of(const Graph& graph);  // A Mermaid flowchart.
std::string dot_of(const Graph& graph);      // A Graphviz digraph.

// No scripts, no fonts from elsewhere; for light and dark pages. The graph has at most
// kMostDrawnNodes and kMostDrawnEdges.
std::string svg_of(const Graph& graph);

}  // namespace treaty::machines
