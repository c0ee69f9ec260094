#include "treaty/machines/graph/placement.h"

#include <algorithm>

namespace treaty::machines {
namespace {

constexpr double kGap = 34;       // Between two states,
constexpr double kLabelGap = 14;  // and between two labels.

// Between the places of neighbours in a layer.
double separation(const Item& left, const Item& right) {
  return left.right + right.left + (left.is_label ? kLabelGap : kGap);
}

// The places nearest to the wanted ones (least squares) that keep order and distance. With the
// distances taken off, wanted places only have to ascend: neighbours that do not are pooled.
std::vector<double> nearest_places(const std::vector<double>& wanted,
                                   const std::vector<double>& offsets) {
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] - offsets[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::vector<double> out;
  out.reserve(wanted.size());
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) out.push_back(pool.mean() + offsets[out.size()]);
  }
  return out;
}

// The middle of the neighbours; where it is, when it has none.
double wanted_place(const Layers& layers, const Item& item, bool above, bool below) {
  double sum = 0;
  std::size_t count = 0;
  const auto add = [&](const std::vector<std::size_t>& others) {
    for (const std::size_t other : others) sum += layers.items[other].x;
    count += others.size();
  };
  if (above) add(item.above);
  if (below) add(item.below);
  return count == 0 ? item.x : sum / static_cast<double>(count);
}

void place_layer(Layers& layers, const std::vector<std::size_t>& layer, bool above, bool below) {
  std::vector<double> offsets;
  std::vector<double> wanted;
  double offset = 0;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const Item& item = layers.items[layer[i]];
    if (i > 0) offset += separation(layers.items[layer[i - 1]], item);
    offsets.push_back(offset);
    wanted.push_back(wanted_place(layers, item, above, below));
  }
  const std::vector<double> places = nearest_places(wanted, offsets);
  for (std::size_t i = 0; i < layer.size(); ++i) layers.items[layer[i]].x = places[i];
}

}  // namespace

void place_items(Layers& layers) {
  constexpr int kPasses = 8;
  const std::size_t count = layers.layers.size();
  // Without neighbours to look at, every layer is packed around 0.
  for (const auto& layer : layers.layers) place_layer(layers, layer, false, false);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 1; i < count; ++i) place_layer(layers, layers.layers[i], true, false);
    for (std::size_t i = count - 1; i > 0; --i) {
      place_layer(layers, layers.layers[i - 1], false, true);
    }
  }
  for (std::size_t i = 0; i < count; ++i) place_layer(layers, layers.layers[i], true, true);
}

}  // namespace treaty::machines
