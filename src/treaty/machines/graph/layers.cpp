#include "treaty/machines/graph/layers.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>

#include "treaty/machines/graph/placement.h"

namespace treaty::machines {
namespace {

constexpr std::size_t kUnranked = std::numeric_limits<std::size_t>::max();

std::vector<std::vector<std::size_t>> targets_of(const Graph& graph) {
  std::vector<std::vector<std::size_t>> out(graph.nodes.size());
  // What a hook did once does not move the states.
  for (const GraphEdge& edge : graph.edges) {
    if (edge.way != Way::redirect) out[edge.from].push_back(edge.to);
  }
  return out;
}

// Gives what can be reached from `start` its distance, beginning with `rank`. Answers the next free
// rank. `found` lists the nodes in the order in which they were met.
std::size_t rank_from(std::size_t start, std::size_t rank,
                      const std::vector<std::vector<std::size_t>>& targets,
                      std::vector<std::size_t>& ranks, std::vector<std::size_t>& found) {
  std::deque<std::size_t> open = {start};
  ranks[start] = rank;
  std::size_t last = rank;
  while (!open.empty()) {
    const std::size_t node = open.front();
    open.pop_front();
    found.push_back(node);
    last = std::max(last, ranks[node]);
    for (const std::size_t target : targets[node]) {
      if (ranks[target] != kUnranked) continue;
      ranks[target] = ranks[node] + 1;
      open.push_back(target);
    }
  }
  return last + 1;
}

void put_into_layers(const Graph& graph, const Sizes& sizes, Layers& out) {
  const auto targets = targets_of(graph);
  out.ranks.assign(graph.nodes.size(), kUnranked);
  std::vector<std::size_t> found;
  std::size_t next = rank_from(graph.initial, 0, targets, out.ranks, found);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (out.ranks[i] == kUnranked) next = rank_from(i, next, targets, out.ranks, found);
  }
  out.layers.resize(2 * next);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const double half = sizes.nodes[i].width / 2;
    out.items.push_back(
        {.index = i, .is_label = false, .left = half, .right = half + sizes.loops[i]});
  }
  for (const std::size_t node : found) out.layers[2 * out.ranks[node]].push_back(node);
}

// Every edge within a rank or between neighbours has an item on its way, with or without words, in
// the gap below the upper one of its ends.
void add_labels(const Graph& graph, const Sizes& sizes, Layers& out) {
  constexpr double kLeast = 6;
  out.label_items.resize(graph.edges.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    const auto [upper, lower] = std::minmax(out.ranks[edge.from], out.ranks[edge.to]);
    if (edge.from == edge.to || lower > upper + 1) continue;
    const double half = std::max(kLeast, sizes.labels[i].width / 2);
    const std::size_t item = out.items.size();
    out.items.push_back({.index = i, .is_label = true, .left = half, .right = half});
    for (const std::size_t node : {edge.from, edge.to}) {
      const bool is_above = out.ranks[node] == upper;
      (is_above ? out.items[item].above : out.items[item].below).push_back(node);
      (is_above ? out.items[node].below : out.items[node].above).push_back(item);
    }
    out.layers[2 * upper + 1].push_back(item);
    out.label_items[i] = item;
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
  add_labels(graph, sizes, out);
  reduce_crossings(out);
  place_items(out);
  return out;
}

}  // namespace treaty::machines
