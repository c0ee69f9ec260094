// Where the parts of a drawing stand beside each other: states in rows, labels in rows of their own
// between them, and room for the lines that pass, so that nothing overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"

namespace treaty::machines {

struct Size {
  double width = 0;
  double height = 0;
};

struct Sizes {
  std::vector<Size> nodes;
  std::vector<double> loops;  // What the loops of a node to itself take at its right.
  std::vector<Size> labels;   // Of the edges.
};

enum class ItemKind : std::uint8_t {
  node,
  label,  // Of an edge; may be empty.
  line,   // An edge that passes.
};

struct Item {
  ItemKind kind;
  std::size_t index;  // Among the nodes, or among the edges.
  double left;        // How far it reaches from its place.
  double right;
  double x = 0;
  std::vector<std::size_t> above{};  // Items.
  std::vector<std::size_t> below{};
};

struct Layers {
  std::vector<std::size_t> ranks{};                // Of the nodes.
  std::vector<Item> items{};                       // The nodes first, in their order.
  std::vector<std::vector<std::size_t>> layers{};  // Nodes, labels, nodes, labels…
  std::vector<std::vector<std::size_t>> chains{};  // The items of each edge, from the top down;
                                                   // none when it runs around.
  std::size_t rank_count() const { return layers.size() / 2; }
};

Layers arrange(const Graph& graph, const Sizes& sizes);

// Gives everything in `layout` its place; sizes are there already. Edges run as curves through
// their labels and the room that was left for them; the far ones around the boxes, through the gaps
// between ranks and along lanes at the sides.
void route(const Graph& graph, const Layers& layers, Layout& layout);

}  // namespace treaty::machines
