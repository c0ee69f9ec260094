// How far to the right everything stands: as near to its neighbours above and below as the order
// within its layer allows.
#pragma once

#include "treaty/machines/graph/layers.h"

namespace treaty::machines {

void place_items(Layers& layers);

}  // namespace treaty::machines
