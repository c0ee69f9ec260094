#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/text.h"
#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/layout.h"
#include "treaty/machines/graph/wording.h"

namespace treaty::machines {
namespace {

// The colours and letters. A page that prefers dark colours gets them.
constexpr std::string_view kStyle = R"(
text { font-family: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
.page { fill: #ffffff; }
.title { font-size: 17px; font-weight: 600; fill: #0f172a; }
.box { fill: #f8fafc; stroke: #94a3b8; stroke-width: 1.4; }
.inner { fill: none; stroke: #94a3b8; stroke-width: 1.2; }
.name { font-size: 14px; font-weight: 600; fill: #0f172a; text-anchor: middle; }
.does { font-size: 12px; fill: #475569; text-anchor: middle; }
.accent.nothing { fill: #cbd5e1; } .accent.agent { fill: #2563eb; } .accent.machine { fill: #7c3aed; }
.accent.action { fill: #0d9488; } .accent.wait { fill: #d97706; }
.edge { fill: none; stroke-width: 1.5; }
.edge.transition { stroke: #64748b; } .edge.error { stroke: #dc2626; }
.edge.policy { stroke: #b45309; } .edge.visited { stroke: #16a34a; stroke-width: 2.6; }
.head.transition { fill: #64748b; } .head.error { fill: #dc2626; }
.head.policy { fill: #b45309; } .head.visited { fill: #16a34a; }
.pill { fill: #ffffff; fill-opacity: 0.92; }
.label { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 11px;
  text-anchor: middle; }
.label.transition { fill: #334155; } .label.error { fill: #b91c1c; }
.label.policy { fill: #92400e; } .label.visited { fill: #15803d; font-weight: 600; }
.begin { fill: #0f172a; }
.box.passed { stroke: #16a34a; stroke-width: 2.2; }
.box.last { stroke: #16a34a; stroke-width: 3; fill: #dcfce7; }
.badge { fill: #16a34a; } .badge-text { font-size: 11px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
@media (prefers-color-scheme: dark) {
.page { fill: #0f172a; } .title, .name { fill: #f1f5f9; } .does { fill: #cbd5e1; }
.box { fill: #1e293b; stroke: #64748b; } .inner { stroke: #64748b; }
.accent.nothing { fill: #475569; } .accent.agent { fill: #60a5fa; } .accent.machine { fill: #a78bfa; }
.accent.action { fill: #2dd4bf; } .accent.wait { fill: #fbbf24; }
.edge.transition { stroke: #94a3b8; } .edge.error { stroke: #f87171; }
.edge.policy { stroke: #fbbf24; } .edge.visited { stroke: #4ade80; }
.head.transition { fill: #94a3b8; } .head.error { fill: #f87171; }
.head.policy { fill: #fbbf24; } .head.visited { fill: #4ade80; }
.pill { fill: #0f172a; }
.label.transition { fill: #e2e8f0; } .label.error { fill: #fca5a5; }
.label.policy { fill: #fcd34d; } .label.visited { fill: #86efac; }
.begin { fill: #f1f5f9; }
.box.passed { stroke: #4ade80; } .box.last { stroke: #4ade80; fill: #14532d; }
.badge { fill: #4ade80; } .badge-text { fill: #052e16; }
}
)";

// Text in XML. Characters that XML does not know, escaped or not, become U+FFFD.
std::string xml(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text.substr(at));
    const bool is_known = point.length > 0 && point.value != 0xFFFE && point.value != 0xFFFF &&
                          (point.value >= 0x20 || point.value == '\n' || point.value == '\t');
    switch (point.value) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: append_utf8(out, is_known ? point.value : U'\uFFFD');
    }
    at += std::max<std::size_t>(1, point.length);
  }
  return out;
}

std::string at(Point point) { return fmt::format("{:.1f} {:.1f}", point.x, point.y); }

// A point on the way from one to the other, so far from the first.
Point toward(Point from, Point to, double distance) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length == 0) return from;
  return {from.x + (to.x - from.x) * distance / length,
          from.y + (to.y - from.y) * distance / length};
}

std::string cornered_path(const std::vector<Point>& points) {
  constexpr double kRadius = 9;
  std::string out = "M" + at(points.front());
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const Point before = points[i - 1];
    const Point corner = points[i];
    const Point after = points[i + 1];
    const double in = std::hypot(corner.x - before.x, corner.y - before.y);
    const double past = std::hypot(after.x - corner.x, after.y - corner.y);
    const double radius = std::min({kRadius, in / 2, past / 2});
    out += fmt::format(" L{} Q{} {}", at(toward(corner, before, radius)), at(corner),
                       at(toward(corner, after, radius)));
  }
  return out + " L" + at(points.back());
}

// Leaves and arrives upright.
std::string bend(Point from, Point to) {
  const double middle = (from.y + to.y) / 2;
  return fmt::format(" C{} {} {}", at({from.x, middle}), at({to.x, middle}), at(to));
}

std::string curved_path(const std::vector<Point>& points) {
  std::string out = "M" + at(points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    out += i % 2 == 1 ? bend(points[i - 1], points[i]) : " L" + at(points[i]);
  }
  return out;
}

std::string path_of(const EdgeRoute& route) {
  return route.shape == Shape::curve ? curved_path(route.points) : cornered_path(route.points);
}

std::string_view class_of(const GraphEdge& edge) {
  if (edge.is_visited) return "visited";
  switch (edge.way) {
    case Way::transition: return "transition";
    case Way::error: return "error";
    case Way::policy: return "policy";
    case Way::redirect: return "visited";
  }
  return "";
}

std::string_view dashes_of(Way way) {
  switch (way) {
    case Way::transition: return "";
    case Way::error: return " stroke-dasharray=\"6 4\"";
    case Way::policy:
    case Way::redirect: return " stroke-dasharray=\"2 4\"";
  }
  return "";
}

// What a pointer that rests on an edge is told: everything, uncut.
std::string told(const Graph& graph, const GraphEdge& edge) {
  std::string out = fmt::format("{} → {}", graph.nodes[edge.from].name, graph.nodes[edge.to].name);
  for (const std::string& label : edge.labels) out += "\n" + label;
  constexpr std::size_t kMost = 2000;
  return xml(utf8_prefix(out, kMost));
}

std::string edge_line(const Graph& graph, std::size_t index, const EdgeRoute& route) {
  const GraphEdge& edge = graph.edges[index];
  const std::string_view kind = class_of(edge);
  return fmt::format(
      "<path class=\"edge {0}\" d=\"{1}\"{2} marker-end=\"url(#treaty-{0})\"><title>{3}</title>"
      "</path>\n",
      kind, path_of(route), dashes_of(edge.way), told(graph, edge));
}

std::string edge_label(const GraphEdge& edge, const EdgeRoute& route) {
  if (route.lines.empty()) return "";
  constexpr double kLabelLine = 14;
  std::string out = fmt::format(
      "<rect class=\"pill\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"6\"/>\n",
      route.label.x - route.label_width / 2, route.label.y - route.label_height / 2,
      route.label_width, route.label_height);
  double y = route.label.y - kLabelLine * static_cast<double>(route.lines.size() - 1) / 2 + 4;
  for (const std::string& line : route.lines) {
    out += fmt::format("<text class=\"label {}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                       class_of(edge), route.label.x, y, xml(line));
    y += kLabelLine;
  }
  return out;
}

std::string_view class_of(Doing doing) {
  switch (doing) {
    case Doing::nothing: return "nothing";
    case Doing::agent: return "agent";
    case Doing::machine: return "machine";
    case Doing::action: return "action";
    case Doing::wait: return "wait";
  }
  return "";
}

std::string rectangle(std::string_view kind, const NodeBox& box, double inset, double radius) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"{:.1f}\"/>\n",
      kind, box.corner.x + inset, box.corner.y + inset, box.width - 2 * inset,
      box.height - 2 * inset, radius);
}

// The steps of the path that were made here, on the corner of the box.
std::string badge(const GraphNode& node, const NodeBox& box) {
  if (node.visits.empty()) return "";
  const std::string text = visits_text(node);
  const double width = std::max(20.0, static_cast<double>(columns_of(text)) * 6.6 + 12);
  const double x = box.corner.x + box.width - width + 8;
  const double y = box.corner.y - 9;
  return fmt::format(
      "<rect class=\"badge\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\" rx=\"9\"/>\n"
      "<text class=\"badge-text\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
      x, y, width, x + width / 2, y + 13, xml(text));
}

std::string node_box(const GraphNode& node, const NodeBox& box) {
  const std::string_view state = node.is_last          ? "box last"
                                 : node.visits.empty() ? "box"
                                                       : "box passed";
  std::string out = fmt::format("<g><title>{}</title>\n", xml(utf8_prefix(node.name, 2000)));
  out += rectangle(state, box, 0, 11);
  if (node.is_final) out += rectangle("inner", box, 4, 8);
  out += fmt::format(
      "<rect class=\"accent {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"4\" height=\"{:.1f}\" "
      "rx=\"2\"/>\n",
      class_of(node.doing), box.corner.x + 9, box.corner.y + 11, box.height - 22);
  const double x = box.corner.x + box.width / 2 + 4;
  double y = box.corner.y + 25;
  out += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y,
                     xml(box.title));
  for (const std::string& line : box.lines) {
    y += 16;
    out += fmt::format("<text class=\"does\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y + 1,
                       xml(line));
  }
  return out + badge(node, box) + "</g>\n";
}

std::string beginning(const Graph& graph, const Layout& layout) {
  const NodeBox& box = layout.nodes[graph.initial];
  return fmt::format(
      "<circle class=\"begin\" cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"5.5\"/>\n"
      "<path class=\"edge transition\" d=\"M{0:.1f} {1:.1f} L{0:.1f} {2:.1f}\" "
      "marker-end=\"url(#treaty-transition)\"/>\n",
      layout.begin.x, layout.begin.y, box.corner.y);
}

std::string markers() {
  std::string out = "<defs>\n";
  for (const std::string_view kind : {"transition", "error", "policy", "visited"}) {
    out += fmt::format(
        "<marker id=\"treaty-{0}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
        "markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
        "<path class=\"head {0}\" d=\"M0 0.8 L10 5 L0 9.2 L2.4 5 z\"/></marker>\n",
        kind);
  }
  return out + "</defs>\n";
}

}  // namespace

std::string svg_of(const Graph& graph) {
  const Layout layout = layout_of(graph);
  const std::string title = shortened(graph.name, 60);
  const double width = std::max(layout.width, 48 + 9.5 * static_cast<double>(columns_of(title)));
  const double height = std::max(layout.height, 64.0);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n",
      std::ceil(width), std::ceil(height), xml(utf8_prefix(graph.name, 2000)), kStyle);
  out += markers();
  out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  out += fmt::format("<text class=\"title\" x=\"24\" y=\"36\">{}</text>\n", xml(title));
  if (!graph.nodes.empty()) out += beginning(graph, layout);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (!graph.edges[i].is_visited) out += edge_line(graph, i, layout.edges[i]);
  }
  // What was visited lies above what was not.
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i].is_visited) out += edge_line(graph, i, layout.edges[i]);
  }
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    out += edge_label(graph.edges[i], layout.edges[i]);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    out += node_box(graph.nodes[i], layout.nodes[i]);
  }
  return out + "</svg>\n";
}

}  // namespace treaty::machines
