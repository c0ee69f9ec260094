#include "treaty/machines/graph/layers.h"

#include <algorithm>
#include <tuple>

namespace treaty::machines {
namespace {

// Edges past more ranks than that run around the drawing.
constexpr std::size_t kFarthest = 4;
constexpr double kLineRoom = 7;  // At either side of a line.

void put_into_layers(const Graph& graph, const Sizes& sizes, Layers& out) {
  out.ranks = ranks_of(graph);
  out.layers.resize(2 * (1 + std::ranges::max(out.ranks)));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const double half = sizes.nodes[i].width / 2;
    out.items.push_back(
        {.kind = ItemKind::node, .index = i, .left = half, .right = half + sizes.loops[i]});
    out.layers[2 * out.ranks[i]].push_back(i);
  }
}

void link(Layers& layers, std::size_t upper, std::size_t lower) {
  layers.items[upper].below.push_back(lower);
  layers.items[lower].above.push_back(upper);
}

// An item in every layer between both ends; the label right beside the source.
void add_chain(const GraphEdge& edge, std::size_t index, double label, Layers& out) {
  const bool is_down = out.ranks[edge.from] < out.ranks[edge.to];
  const std::size_t upper = is_down ? edge.from : edge.to;
  const std::size_t lower = is_down ? edge.to : edge.from;
  const std::size_t first = 2 * out.ranks[upper] + 1;
  const std::size_t last = 2 * out.ranks[lower] - 1;
  std::size_t before = upper;
  for (std::size_t layer = first; layer <= last; ++layer) {
    const bool is_label = layer == (is_down ? first : last);
    const double half = is_label ? std::max(kLineRoom, label / 2) : kLineRoom;
    const std::size_t item = out.items.size();
    out.items.push_back({.kind = is_label ? ItemKind::label : ItemKind::line,
                         .index = index,
                         .left = half,
                         .right = half});
    out.layers[layer].push_back(item);
    out.chains[index].push_back(item);
    link(out, before, item);
    before = item;
  }
  link(out, before, lower);
}

void add_chains(const Graph& graph, const Sizes& sizes, Layers& out) {
  out.chains.resize(graph.edges.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    const auto [upper, lower] = std::minmax({out.ranks[edge.from], out.ranks[edge.to]});
    if (edge.from != edge.to && lower - upper <= kFarthest) {
      add_chain(edge, i, sizes.labels[i].width, out);
    }
  }
}

std::vector<std::size_t> positions_of(const Layers& layers) {
  std::vector<std::size_t> out(layers.items.size());
  for (const auto& layer : layers.layers) {
    for (std::size_t i = 0; i < layer.size(); ++i) out[layer[i]] = i;
  }
  return out;
}

// How often lines cross between a layer and the one above it.
std::size_t crossings_above(const Layers& layers, const std::vector<std::size_t>& layer,
                            const std::vector<std::size_t>& positions, std::size_t above_size) {
  std::vector<std::size_t> tree(above_size + 1);  // Counts ends so far, by position (Fenwick).
  std::size_t ends = 0;
  std::size_t crossings = 0;
  for (const std::size_t item : layer) {
    std::vector<std::size_t> tops;
    for (const std::size_t above : layers.items[item].above) tops.push_back(positions[above]);
    for (const std::size_t top : tops) {
      std::size_t not_right = 0;
      for (std::size_t i = top + 1; i > 0; i -= i & (~i + 1)) not_right += tree[i];
      crossings += ends - not_right;
    }
    for (const std::size_t top : tops) {
      for (std::size_t i = top + 1; i <= above_size; i += i & (~i + 1)) ++tree[i];
    }
    ends += tops.size();
  }
  return crossings;
}

std::size_t count_crossings(const Layers& layers, const std::vector<std::size_t>& positions) {
  std::size_t out = 0;
  for (std::size_t i = 1; i < layers.layers.size(); ++i) {
    out += crossings_above(layers, layers.layers[i], positions, layers.layers[i - 1].size());
  }
  return out;
}

// Sorts a layer by where its neighbours stand on average; who has none stays where it is.
void sort_layer(Layers& layers, std::size_t layer, std::vector<std::size_t> Item::* neighbours,
                std::vector<std::size_t>& positions) {
  std::vector<std::size_t>& items = layers.layers[layer];
  std::vector<std::tuple<double, std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::vector<std::size_t>& beside = layers.items[items[i]].*neighbours;
    double sum = 0;
    for (const std::size_t other : beside) sum += static_cast<double>(positions[other]);
    const double mean =
        beside.empty() ? static_cast<double>(i) : sum / static_cast<double>(beside.size());
    order.emplace_back(mean, i, items[i]);
  }
  std::ranges::sort(order);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = std::get<2>(order[i]);
    positions[items[i]] = i;
  }
}

void reduce_crossings(Layers& layers) {
  constexpr int kSweeps = 6;
  auto best = layers.layers;
  std::vector<std::size_t> positions = positions_of(layers);
  std::size_t least = count_crossings(layers, positions);
  for (int sweep = 0; sweep < kSweeps && least > 0; ++sweep) {
    const std::size_t count = layers.layers.size();
    for (std::size_t i = 1; i < count; ++i) sort_layer(layers, i, &Item::above, positions);
    for (std::size_t i = count - 1; sweep % 2 == 0 && i > 0; --i) {
      sort_layer(layers, i - 1, &Item::below, positions);
    }
    const std::size_t crossings = count_crossings(layers, positions);
    if (crossings >= least) continue;
    least = crossings;
    best = layers.layers;
  }
  layers.layers = std::move(best);
}

}  // namespace

Layers arrange(const Graph& graph, const Sizes& sizes) {
  Layers out;
  put_into_layers(graph, sizes, out);
  add_chains(graph, sizes, out);
  reduce_crossings(out);
  place_items(out);
  return out;
}

}  // namespace treaty::machines
