#include <algorithm>
#include <cstdint>
#include <ranges>

#include "treaty/machines/graph/layers.h"

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

}  // namespace

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

}  // namespace treaty::machines
