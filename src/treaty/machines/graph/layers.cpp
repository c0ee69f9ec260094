#include "treaty/machines/graph/layers.h"

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <tuple>

namespace treaty::machines {
namespace {

// Walks from the initial state, then from what it did not reach. Ways that lead back to where the
// walk comes from are left out: the rest has no cycle.
class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), out_(graph.nodes.size()), seen_(out_.size()) {
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      const GraphEdge& edge = graph.edges[i];
      if (edge.from != edge.to) out_[edge.from].push_back(i);
    }
    go(graph.initial);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (seen_[i] == Seen::no) go(i);
    }
    std::ranges::reverse(order_);
  }

  // Every node stands before those that its ways lead to,
  const std::vector<std::size_t>& order() const { return order_; }
  // where only these ways count.
  const std::vector<std::vector<std::size_t>>& ways() const { return ways_; }

 private:
  enum class Seen : std::uint8_t { no, open, done };

  void go(std::size_t start) {
    ways_.resize(out_.size());
    std::vector<std::pair<std::size_t, std::size_t>> open = {{start, 0}};  // Node, next edge.
    seen_[start] = Seen::open;
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next == out_[node].size()) {
        seen_[node] = Seen::done;
        order_.push_back(node);
        open.pop_back();
        continue;
      }
      const std::size_t target = graph_.edges[out_[node][next++]].to;
      if (seen_[target] == Seen::open) continue;
      ways_[node].push_back(target);
      if (seen_[target] == Seen::done) continue;
      seen_[target] = Seen::open;
      open.emplace_back(target, 0);
    }
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<Seen> seen_;
  std::vector<std::size_t> order_{};
  std::vector<std::vector<std::size_t>> ways_{};
};

// A rank for each node, from 0: below everything that leads to it, but for ways back. Two ends of
// an edge have different ones unless they are one node.
std::vector<std::size_t> ranks_of(const Graph& graph) {
  const Walk walk(graph);
  std::vector<std::size_t> ranks(graph.nodes.size());
  std::vector<bool> is_reached(graph.nodes.size());
  for (const std::size_t node : walk.order()) {
    for (const std::size_t target : walk.ways()[node]) {
      ranks[target] = std::max(ranks[target], ranks[node] + 1);
      is_reached[target] = true;
    }
  }
  // What nothing leads to stands right above what it leads to, not at the top.
  for (const std::size_t node : std::views::reverse(walk.order())) {
    if (is_reached[node] || node == graph.initial || walk.ways()[node].empty()) continue;
    std::size_t nearest = ranks[walk.ways()[node].front()];
    for (const std::size_t target : walk.ways()[node]) nearest = std::min(nearest, ranks[target]);
    ranks[node] = nearest - 1;
  }
  return ranks;
}

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

constexpr double kGap = 34;       // Between two states,
constexpr double kLabelGap = 14;  // and between two labels.

// Between the places of neighbours in a layer.
double separation(const Item& left, const Item& right) {
  const bool are_nodes = left.kind == ItemKind::node || right.kind == ItemKind::node;
  return left.right + right.left + (are_nodes ? kGap : kLabelGap);
}

struct WantedPlace {
  double place;
  double weight;
};

// The places nearest to the wanted ones (least squares) that keep order and distance. With the
// distances taken off, wanted places only have to ascend: neighbours that do not are pooled.
std::vector<double> nearest_places(const std::vector<WantedPlace>& wanted,
                                   const std::vector<double>& offsets) {
  struct Pool {
    double sum;
    double weight;
    std::size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto [place, weight] = wanted[i];
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
  out.reserve(wanted.size());
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) out.push_back(pool.mean() + offsets[out.size()]);
  }
  return out;
}

// The middle of the neighbours; the middle of all, when it has none. Lines want to be straight.
WantedPlace wanted_place_of(const Layers& layers, const Item& item, bool above, bool below,
                            double middle) {
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
  std::vector<WantedPlace> wanted;
  double offset = 0;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const Item& item = layers.items[layer[i]];
    if (i > 0) offset += separation(layers.items[layer[i - 1]], item);
    offsets.push_back(offset);
    wanted.push_back(wanted_place_of(layers, item, above, below, middle));
  }
  const std::vector<double> places = nearest_places(wanted, offsets);
  for (std::size_t i = 0; i < layer.size(); ++i) layers.items[layer[i]].x = places[i];
}

double middle_of(const Layers& layers) {
  double sum = 0;
  for (const Item& item : layers.items) sum += item.x;
  return sum / static_cast<double>(layers.items.size());
}

// Sets Item::x: as near to the neighbours above and below as the order within the layer allows.
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
