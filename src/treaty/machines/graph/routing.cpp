#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include "treaty/machines/graph/layers.h"

namespace treaty::machines {
namespace {

constexpr double kMargin = 24;
constexpr double kHead = 40;       // For the name of the machine.
constexpr double kBegin = 36;      // For the mark above the initial state.
constexpr double kLine = 9;        // Between two lines of a gap.
constexpr double kBesideBox = 16;  // Between a box and what runs in the gap.
constexpr double kBesideLabel = 14;
constexpr double kBesideLanes = 20;

// --- Edges that lead past many ranks run around the boxes

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

struct LaneWidths {
  std::vector<double> left{};
  std::vector<double> right{};
};

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

// Which edges run around, and on which side. `loops`: which nodes have one at their right.
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

// Gives each a lane of its side that is free between its ends. Answers the widths of the lanes.
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

// --- Places and lines

class Router {
 public:
  Router(const Graph& graph, const Layers& layers, Layout& layout)
      : graph_(graph), layers_(layers), layout_(layout), loops_(loops_of()) {}

  void run() {
    Detours detours = find_detours(graph_, layers_, loops_);
    place_rows(detours);
    const LaneWidths widths = assign_lanes(graph_, layout_, detours);
    place_columns(widths);
    spread_ports(detours);
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) draw_near(i);
    draw_loops();
    for (const Detour& detour : detours.list) draw_detour(detour, widths);
  }

 private:
  using Ports = std::vector<std::pair<double, std::size_t>>;  // Wanted place and edge.

  double middle(std::size_t node) const {
    return layout_.nodes[node].corner.x + layout_.nodes[node].width / 2;
  }
  double top(std::size_t node) const { return layout_.nodes[node].corner.y; }
  double bottom(std::size_t node) const { return top(node) + layout_.nodes[node].height; }
  double left(std::size_t node) const { return layout_.nodes[node].corner.x; }
  double right(std::size_t node) const { return left(node) + layout_.nodes[node].width; }
  double item_x(std::size_t item) const { return layers_.items[item].x + shift_; }

  std::vector<bool> loops_of() const {
    std::vector<bool> out(graph_.nodes.size());
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.from == edge.to) out[edge.from] = true;
    }
    return out;
  }

  // From top to bottom: each rank, the gap below it with its lines, its labels, the lines above the
  // next.
  void place_rows(const Detours& detours) {
    double y = kMargin + kHead + kBegin;
    for (std::size_t rank = 0; rank < layers_.rank_count(); ++rank) {
      y += kLine * static_cast<double>(detours.above[rank]);
      const auto is_node = [&](std::size_t item) { return item < layout_.nodes.size(); };
      auto nodes = layers_.layers[2 * rank] | std::views::filter(is_node);
      double tallest = 0;
      for (const std::size_t node : nodes) {
        tallest = std::max(tallest, layout_.nodes[node].height);
      }
      for (const std::size_t node : nodes) {
        layout_.nodes[node].corner.y = y + (tallest - layout_.nodes[node].height) / 2;
      }
      rows_.push_back({.top = y, .bottom = y + tallest});
      y += tallest + place_gap(rank, y + tallest, detours.below[rank]);
    }
    const Row& last = rows_.back();
    layout_.height = std::max(y - kBesideBox, last.bottom) + kMargin;
  }

  // Answers how high the gap is.
  double place_gap(std::size_t rank, double y, std::size_t lines) {
    double tallest = 0;
    const std::vector<std::size_t>& items = layers_.layers[2 * rank + 1];
    for (const std::size_t item : items) {
      if (layers_.items[item].kind != ItemKind::label) continue;
      tallest = std::max(tallest, layout_.edges[layers_.items[item].index].label_height);
    }
    const bool is_last = rank + 1 == layers_.rank_count();
    if (is_last && items.empty() && lines == 0) return 0;
    const double far = slack(rank);
    const double above = kBesideBox + kLine * static_cast<double>(lines) + kBesideLabel + far / 2;
    for (const std::size_t item : items) {
      if (layers_.items[item].kind != ItemKind::label) continue;
      layout_.edges[layers_.items[item].index].label.y = y + above + tallest / 2;
    }
    return above + tallest + far / 2 + kBesideLabel + kBesideBox;
  }

  // Lines that lead far to the side need some height, or they all look alike.
  double slack(std::size_t rank) const {
    constexpr double kShare = 0.12;
    constexpr double kMost = 48;
    double farthest = 0;
    for (const std::size_t index : layers_.layers[2 * rank + 1]) {
      const Item& item = layers_.items[index];
      for (const std::size_t node : item.above) {
        farthest = std::max(farthest, std::abs(layers_.items[node].x - item.x));
      }
      for (const std::size_t node : item.below) {
        farthest = std::max(farthest, std::abs(layers_.items[node].x - item.x));
      }
    }
    return std::min(kMost, farthest * kShare);
  }

  void place_columns(const LaneWidths& widths) {
    double least = layers_.items.front().x;
    double most = least;
    for (const Item& item : layers_.items) {
      least = std::min(least, item.x - item.left);
      most = std::max(most, item.x + item.right);
    }
    const auto side = [](const std::vector<double>& lanes) {
      return lanes.empty() ? 0 : kBesideLanes + std::accumulate(lanes.begin(), lanes.end(), 0.0);
    };
    left_ = kMargin + side(widths.left);
    shift_ = left_ - least;
    right_ = most + shift_;
    layout_.width = right_ + side(widths.right) + kMargin;
    for (std::size_t i = 0; i < layout_.nodes.size(); ++i) {
      layout_.nodes[i].corner.x = item_x(i) - layout_.nodes[i].width / 2;
    }
    layout_.begin = {middle(graph_.initial), rows_.front().top - kBegin + 8};
  }

  // Edges share the upper and the lower side of a box, in the order of where they go.
  void spread_ports(const Detours& detours) {
    std::vector<Ports> tops(graph_.nodes.size());
    std::vector<Ports> bottoms(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::size_t item : layers_.items[i].above) {
        tops[i].emplace_back(item_x(item), layers_.items[item].index);
      }
      for (const std::size_t item : layers_.items[i].below) {
        bottoms[i].emplace_back(item_x(item), layers_.items[item].index);
      }
    }
    for (const Detour& detour : detours.list) {
      const double far = detour.is_right ? right_ + 1 : left_ - 1;
      const GraphEdge& edge = graph_.edges[detour.edge];
      if (!detour.leaves_by_side) bottoms[edge.from].emplace_back(far, detour.edge);
      if (!detour.arrives_by_side) tops[edge.to].emplace_back(far, detour.edge);
    }
    leaving_.resize(graph_.edges.size());
    arriving_.resize(graph_.edges.size());
    // The mark of the beginning arrives at the initial state as if it were an edge.
    tops[graph_.initial].emplace_back(middle(graph_.initial), graph_.edges.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      spread(i, tops[i], top(i));
      spread(i, bottoms[i], bottom(i));
    }
  }

  void spread(std::size_t node, Ports& ports, double y) {
    constexpr double kUsual = 26;
    std::ranges::sort(ports);
    const auto count = static_cast<double>(ports.size());
    const double step =
        std::min(kUsual, (layout_.nodes[node].width - 30) / std::max(1.0, count - 1));
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const double x = middle(node) + (static_cast<double>(i) - (count - 1) / 2) * step;
      const std::size_t edge = ports[i].second;
      if (edge == graph_.edges.size()) {
        layout_.begin.x = x;
      } else {
        (graph_.edges[edge].from == node ? leaving_ : arriving_)[edge] = {x, y};
      }
    }
  }

  // Through its label, and past the rows between.
  void draw_near(std::size_t index) {
    if (layers_.chains[index].empty()) return;
    EdgeRoute& route = layout_.edges[index];
    const GraphEdge& edge = graph_.edges[index];
    const bool is_down = layers_.ranks[edge.from] < layers_.ranks[edge.to];
    std::vector<Point> points;
    std::size_t layer = 2 * layers_.ranks[is_down ? edge.from : edge.to] + 1;
    for (const std::size_t item : layers_.chains[index]) {
      add_passage(item, layer++, route, points);
    }
    if (!is_down) std::ranges::reverse(points);
    route.shape = Shape::curve;
    route.points = {leaving_[index]};
    route.points.insert(route.points.end(), points.begin(), points.end());
    route.points.push_back(arriving_[index]);
  }

  // Straight down through a label, or between the boxes of a row; in a gap a line just bends.
  void add_passage(std::size_t index, std::size_t layer, EdgeRoute& route,
                   std::vector<Point>& points) const {
    const Item& item = layers_.items[index];
    const double x = item_x(index);
    if (item.kind == ItemKind::label) {
      route.label.x = x;
      points.push_back({x, route.label.y - route.label_height / 2});
      points.push_back({x, route.label.y + route.label_height / 2});
    } else if (layer % 2 == 0) {
      points.push_back({x, rows_[layer / 2].top});
      points.push_back({x, rows_[layer / 2].bottom});
    }
  }

  // From a state to itself: at its right, one outside of the other.
  void draw_loops() {
    constexpr double kOut = 20;
    std::vector<double> used(graph_.nodes.size());
    std::vector<double> heights(graph_.nodes.size(), 9);
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const std::size_t node = graph_.edges[i].from;
      if (node != graph_.edges[i].to) continue;
      EdgeRoute& route = layout_.edges[i];
      const double y = (top(node) + bottom(node)) / 2;
      const double x = right(node) + used[node] + kOut;
      const double half = heights[node];
      route.points = {
          {right(node), y - half}, {x, y - half}, {x, y + half}, {right(node), y + half}};
      route.label = {x + 6 + route.label_width / 2, y};
      used[node] += kOut + 6 + route.label_width;
      heights[node] += 6;
    }
  }

  double lane_x(const Detour& detour, const LaneWidths& widths) const {
    const std::vector<double>& lanes = detour.is_right ? widths.right : widths.left;
    double x = kBesideLanes / 2 + lanes[detour.lane] / 2;
    for (std::size_t i = 0; i < detour.lane; ++i) x += lanes[i];
    return detour.is_right ? right_ + x : left_ - x;
  }

  // Several edges at one side of a box stand one below the other.
  double side_y(std::size_t node) {
    constexpr double kStep = 9;
    const std::size_t count = sides_[node]++;
    const std::size_t steps = (count + 1) / 2;
    const double offset = kStep * static_cast<double>(steps) * (count % 2 == 0 ? 1 : -1);
    const double half = layout_.nodes[node].height / 2 - 8;
    return (top(node) + bottom(node)) / 2 + std::clamp(offset, -half, half);
  }

  void draw_detour(const Detour& detour, const LaneWidths& widths) {
    const GraphEdge& edge = graph_.edges[detour.edge];
    EdgeRoute& route = layout_.edges[detour.edge];
    const double x = lane_x(detour, widths);
    const auto side_of = [&](std::size_t node) {
      return detour.is_right ? right(node) : left(node);
    };
    if (detour.leaves_by_side) {
      const double y = side_y(edge.from);
      route.points = {{side_of(edge.from), y}, {x, y}};
    } else {
      const double y = rows_[layers_.ranks[edge.from]].bottom + kBesideBox +
                       kLine * static_cast<double>(detour.below);
      const Point start = leaving_[detour.edge];
      route.points = {start, {start.x, y}, {x, y}};
    }
    const double leaves = route.points.back().y;
    double arrives = 0;
    if (detour.arrives_by_side) {
      arrives = side_y(edge.to);
      route.points.insert(route.points.end(), {{x, arrives}, {side_of(edge.to), arrives}});
    } else {
      arrives = rows_[layers_.ranks[edge.to]].top - kBesideBox -
                kLine * static_cast<double>(detour.above);
      const Point end = arriving_[detour.edge];
      route.points.insert(route.points.end(), {{x, arrives}, {end.x, arrives}, end});
    }
    route.label = {x, (leaves + arrives) / 2};
  }

  struct Row {
    double top;
    double bottom;
  };

  const Graph& graph_;
  const Layers& layers_;
  Layout& layout_;
  std::vector<bool> loops_;
  std::vector<Row> rows_{};
  std::vector<Point> leaving_{};   // Where edges begin at the lower or upper side of a box,
  std::vector<Point> arriving_{};  // and where they end.
  std::map<std::size_t, std::size_t> sides_{};
  double shift_ = 0;  // From the places of items to those of the drawing.
  double left_ = 0;   // Where boxes and labels begin,
  double right_ = 0;  // and where they end; lanes are outside.
};

}  // namespace

void route(const Graph& graph, const Layers& layers, Layout& layout) {
  Router(graph, layers, layout).run();
}

}  // namespace treaty::machines
