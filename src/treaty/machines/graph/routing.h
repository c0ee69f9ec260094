// How edges run: as curves through their labels and the room that was left for them; the far ones
// around the boxes, through the gaps between ranks and along lanes at the sides.
#pragma once

#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layers.h"
#include "treaty/machines/graph/layout.h"

namespace treaty::machines {

// Gives everything in `layout` its place; sizes are there already.
void route(const Graph& graph, const Layers& layers, Layout& layout);

}  // namespace treaty::machines
