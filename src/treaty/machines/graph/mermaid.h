// A graph as the text of a Mermaid flowchart, for pages that render it themselves.
#pragma once

#include <string>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

std::string mermaid_of(const Graph& graph);

}  // namespace treaty::machines
