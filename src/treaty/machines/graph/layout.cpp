#include "treaty/machines/graph/layout.h"

#include <algorithm>

#include "treaty/machines/graph/layers.h"
#include "treaty/machines/graph/wording.h"

namespace treaty::machines {
namespace {

// Widths of letters are guessed, a little too large: the page that shows the drawing has the fonts.
constexpr double kTitleLetter = 8.6;
constexpr double kLineLetter = 6.9;
constexpr double kLabelLetter = 6.7;

constexpr double kTitleHeight = 20;
constexpr double kLineHeight = 16;
constexpr double kLabelLineHeight = 14;

double width_of(std::string_view text, double letter) {
  return static_cast<double>(columns_of(text)) * letter;
}

NodeBox measured(const GraphNode& node) {
  constexpr double kLeast = 110;
  NodeBox box{.corner = {}, .title = shortened(node.name, kLongestName)};
  double widest = width_of(box.title, kTitleLetter);
  for (const std::string& line : node.lines) {
    box.lines.push_back(shortened(line, kLongestLine));
    widest = std::max(widest, width_of(box.lines.back(), kLineLetter));
  }
  box.width = std::max(kLeast, widest + 36);
  box.height = 20 + kTitleHeight + kLineHeight * static_cast<double>(box.lines.size());
  return box;
}

EdgeRoute measured(const GraphEdge& edge) {
  EdgeRoute route{.lines = label_lines(edge)};
  for (const std::string& line : route.lines) {
    route.label_width = std::max(route.label_width, width_of(line, kLabelLetter) + 12);
  }
  if (!route.lines.empty()) {
    route.label_height = 6 + kLabelLineHeight * static_cast<double>(route.lines.size());
  }
  return route;
}

Sizes sizes_of(const Graph& graph, const Layout& layout) {
  constexpr double kLoop = 34;
  Sizes sizes;
  for (const NodeBox& box : layout.nodes) sizes.nodes.push_back({box.width, box.height});
  sizes.loops.resize(graph.nodes.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const EdgeRoute& route = layout.edges[i];
    sizes.labels.push_back({route.label_width, route.label_height});
    const GraphEdge& edge = graph.edges[i];
    if (edge.from == edge.to) sizes.loops[edge.from] += kLoop + route.label_width;
  }
  return sizes;
}

}  // namespace

Layout layout_of(const Graph& graph) {
  Layout out;
  if (graph.nodes.empty()) return out;
  for (const GraphNode& node : graph.nodes) out.nodes.push_back(measured(node));
  for (const GraphEdge& edge : graph.edges) out.edges.push_back(measured(edge));
  const Layers layers = arrange(graph, sizes_of(graph, out));
  route(graph, layers, out);
  return out;
}

}  // namespace treaty::machines
