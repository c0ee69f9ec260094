#include <algorithm>

#include "treaty/machines/graph/routing.h"

namespace treaty::machines {
namespace {

// Whether nothing stands between a node and that side of the drawing.
class Sides {
 public:
  Sides(const Layers& layers, const std::vector<bool>& loops) : layers_(layers), loops_(loops) {}

  bool is_open(std::size_t node, bool right) const {
    const std::vector<std::size_t>& layer = layers_.layers[2 * layers_.ranks[node]];
    return right ? layer.back() == node && !loops_[node] : layer.front() == node;
  }

  // How many of the two ends have to go through a gap.
  int cost(const GraphEdge& edge, bool right) const {
    return (is_open(edge.from, right) ? 0 : 1) + (is_open(edge.to, right) ? 0 : 1);
  }

 private:
  const Layers& layers_;
  const std::vector<bool>& loops_;
};

struct Span {
  double top;
  double bottom;
  double length() const { return bottom - top; }
};

Span span_of(const GraphEdge& edge, const Layout& layout) {
  const NodeBox& from = layout.nodes[edge.from];
  const NodeBox& to = layout.nodes[edge.to];
  return {std::min(from.corner.y, to.corner.y),
          std::max(from.corner.y + from.height, to.corner.y + to.height)};
}

}  // namespace

Detours find_detours(const Graph& graph, const Layers& layers, const std::vector<bool>& loops) {
  Detours out;
  out.below.resize(layers.rank_count());
  out.above.resize(layers.rank_count());
  const Sides sides(layers, loops);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    if (!layers.chains[i].empty() || edge.from == edge.to) continue;
    const int right = sides.cost(edge, true);
    const int left = sides.cost(edge, false);
    // Where both are alike, what went wrong keeps to the left.
    const bool is_right = right < left || (right == left && edge.way != Way::error);
    Detour detour{.edge = i,
                  .is_right = is_right,
                  .leaves_by_side = sides.is_open(edge.from, is_right),
                  .arrives_by_side = sides.is_open(edge.to, is_right)};
    if (!detour.leaves_by_side) detour.below = out.below[layers.ranks[edge.from]]++;
    if (!detour.arrives_by_side) detour.above = out.above[layers.ranks[edge.to]]++;
    out.list.push_back(detour);
  }
  return out;
}

LaneWidths assign_lanes(const Graph& graph, const Layout& layout, Detours& detours) {
  constexpr double kLeastWidth = 14;
  constexpr double kSpace = 10;
  // The short ones inside.
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(detours.list.size());
  for (std::size_t i = 0; i < detours.list.size(); ++i) {
    order.emplace_back(span_of(graph.edges[detours.list[i].edge], layout).length(), i);
  }
  std::ranges::sort(order);

  LaneWidths widths;
  std::vector<std::vector<Span>> taken[2];
  for (const auto& [_, i] : order) {
    Detour& detour = detours.list[i];
    const Span span = span_of(graph.edges[detour.edge], layout);
    auto& lanes = taken[detour.is_right ? 1 : 0];
    const auto is_free = [&](const std::vector<Span>& lane) {
      return std::ranges::none_of(lane, [&](const Span& other) {
        return span.top < other.bottom && other.top < span.bottom;
      });
    };
    detour.lane = static_cast<std::size_t>(std::ranges::find_if(lanes, is_free) - lanes.begin());
    std::vector<double>& side = detour.is_right ? widths.right : widths.left;
    if (detour.lane == lanes.size()) {
      lanes.emplace_back();
      side.push_back(kLeastWidth);
    }
    lanes[detour.lane].push_back(span);
    double& width = side[detour.lane];
    width = std::max(width, layout.edges[detour.edge].label_width + kSpace);
  }
  return widths;
}

}  // namespace treaty::machines
