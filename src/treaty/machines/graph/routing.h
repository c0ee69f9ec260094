// How edges run: as curves through their labels and the room that was left for them; the far ones
// around the boxes, through the gaps between ranks and along lanes at the sides.
#pragma once

#include <cstddef>
#include <vector>

#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layers.h"
#include "treaty/machines/graph/layout.h"

namespace treaty::machines {

// Gives everything in `layout` its place; sizes are there already.
void route(const Graph& graph, const Layers& layers, Layout& layout);

// --- Edges that lead past many ranks (lanes.cpp)

struct Detour {
  std::size_t edge;
  bool is_right;          // Which side it runs along.
  bool leaves_by_side;    // Nothing stands between its source and the side;
  bool arrives_by_side;   // nor between the side and its target.
  std::size_t lane = 0;   // From the inside out.
  std::size_t below = 0;  // Which line of the gap below the source it takes, unless by side;
  std::size_t above = 0;  // and of the gap above the target.
};

struct Detours {
  std::vector<Detour> list{};
  std::vector<std::size_t> below{};  // How many lines each gap below a rank has,
  std::vector<std::size_t> above{};  // and each gap above one.
};

// Which edges run around, and on which side. `loops`: which nodes have one at their right.
Detours find_detours(const Graph& graph, const Layers& layers, const std::vector<bool>& loops);

// Gives each a lane of its side that is free between its ends. Answers the widths of the lanes.
struct LaneWidths {
  std::vector<double> left{};
  std::vector<double> right{};
};
LaneWidths assign_lanes(const Graph& graph, const Layout& layout, Detours& detours);

}  // namespace treaty::machines
