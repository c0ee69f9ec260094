// A machine as something to draw: states with what they do, and the ways between them. The path of
// an execution marks what was visited. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "treaty/machines/machine.h"

namespace treaty::machines {

enum class Doing : std::uint8_t { nothing, agent, machine, action, wait };

struct GraphNode {
  std::string name;
  Doing doing = Doing::nothing;
  std::vector<std::string> lines{};  // What it does: "agent writer · retry".
  bool is_initial = false;
  bool is_final = false;
  std::vector<std::size_t> visits{};  // Which steps of the path, from 1.
  bool is_last = false;               // The path ends here.
};

enum class Way : std::uint8_t {
  transition,
  error,     // on_error.
  policy,    // The built-in rate-limit policy.
  redirect,  // Taken by an execution, and not in the file: a hook's.
};

struct GraphEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  Way way = Way::transition;
  std::vector<std::string> labels{};  // A condition each, whole.
  bool is_visited = false;
};

struct Graph {
  std::string name;
  std::vector<GraphNode> nodes{};
  std::vector<GraphEdge> edges{};  // At most one of each way between two nodes.
  std::size_t initial = 0;
};

// `path`: the names of the states that an execution visited, in order; may be empty.
Graph graph_of(const Machine& machine, const std::vector<std::string>& path = {});

// A graph as a drawing, or as the text of a chart for programs that draw it themselves. Pure.

std::string mermaid_of(const Graph& graph);  // A Mermaid flowchart.
std::string dot_of(const Graph& graph);      // A Graphviz digraph.

// No scripts, no fonts from elsewhere; for light and dark pages. The graph has at most
// kMostDrawnNodes and kMostDrawnEdges.
std::string svg_of(const Graph& graph);

}  // namespace treaty::machines
