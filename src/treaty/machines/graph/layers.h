// Where the parts of a drawing stand beside each other: states in layers by their distance from the
// initial one, labels in layers of their own between them, so that nothing overlaps.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

struct Size {
  double width = 0;
  double height = 0;
};

struct Sizes {
  std::vector<Size> nodes;
  std::vector<double> loops;  // What the loop of a node to itself takes at its right.
  std::vector<Size> labels;   // Of the edges.
};

// A node, or the label of an edge on its way down.
struct Item {
  std::size_t index;  // Among the nodes, or among the edges.
  bool is_label;
  double left;  // How far it reaches from its place.
  double right;
  double x = 0;
  std::vector<std::size_t> above{};  // Items.
  std::vector<std::size_t> below{};
};

struct Layers {
  std::vector<std::size_t> ranks{};                       // Of the nodes.
  std::vector<Item> items{};                              // The nodes first, in their order.
  std::vector<std::vector<std::size_t>> layers{};         // Nodes, labels, nodes, labels…
  std::vector<std::optional<std::size_t>> label_items{};  // Of edges, but for the far ones.

  std::size_t rank_count() const { return layers.size() / 2; }
};

Layers arrange(const Graph& graph, const Sizes& sizes);

}  // namespace treaty::machines
