#include <algorithm>

#include "treaty/machines/graph/layers.h"

namespace treaty::machines {
namespace {

constexpr double kGap = 34;       // Between two states,
constexpr double kLabelGap = 14;  // and between two labels.

// Between the places of neighbours in a layer.
double separation(const Item& left, const Item& right) {
  const bool are_nodes = left.kind == ItemKind::node || right.kind == ItemKind::node;
  return left.right + right.left + (are_nodes ? kGap : kLabelGap);
}

struct Wish {
  double place;
  double weight;
};

// The places nearest to the wanted ones (least squares) that keep order and distance. With the
// distances taken off, wanted places only have to ascend: neighbours that do not are pooled.
std::vector<double> nearest_places(const std::vector<Wish>& wishes,
                                   const std::vector<double>& offsets) {
  struct Pool {
    double sum;
    double weight;
    std::size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto [place, weight] = wishes[i];
    pools.push_back({(place - offsets[i]) * weight, weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  std::vector<double> out;
  out.reserve(wishes.size());
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) out.push_back(pool.mean() + offsets[out.size()]);
  }
  return out;
}

// The middle of the neighbours; the middle of all, when it has none. Lines want to be straight.
Wish wish_of(const Layers& layers, const Item& item, bool above, bool below, double middle) {
  double sum = 0;
  std::size_t count = 0;
  const auto add = [&](const std::vector<std::size_t>& others) {
    for (const std::size_t other : others) sum += layers.items[other].x;
    count += others.size();
  };
  if (above) add(item.above);
  if (below) add(item.below);
  if (count == 0) add(item.above), add(item.below);
  if (count == 0) return {middle, 1};
  return {sum / static_cast<double>(count), item.kind == ItemKind::line ? 4.0 : 1.0};
}

void place_layer(Layers& layers, const std::vector<std::size_t>& layer, bool above, bool below,
                 double middle) {
  std::vector<double> offsets;
  std::vector<Wish> wishes;
  double offset = 0;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const Item& item = layers.items[layer[i]];
    if (i > 0) offset += separation(layers.items[layer[i - 1]], item);
    offsets.push_back(offset);
    wishes.push_back(wish_of(layers, item, above, below, middle));
  }
  const std::vector<double> places = nearest_places(wishes, offsets);
  for (std::size_t i = 0; i < layer.size(); ++i) layers.items[layer[i]].x = places[i];
}

double middle_of(const Layers& layers) {
  double sum = 0;
  for (const Item& item : layers.items) sum += item.x;
  return sum / static_cast<double>(layers.items.size());
}

}  // namespace

void place_items(Layers& layers) {
  constexpr int kPasses = 12;
  const std::size_t count = layers.layers.size();
  for (int pass = 0; pass < kPasses; ++pass) {
    const double middle = middle_of(layers);
    const auto place = [&](std::size_t layer, bool above, bool below) {
      place_layer(layers, layers.layers[layer], above, below, middle);
    };
    for (std::size_t i = 0; i < count; ++i) place(i, true, false);
    for (std::size_t i = count; i > 0; --i) place(i - 1, false, true);
    for (std::size_t i = 0; i < count; ++i) place(i, true, true);
  }
}

}  // namespace treaty::machines
