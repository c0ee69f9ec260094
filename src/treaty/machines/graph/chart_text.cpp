#include <fmt/format.h>

#include "treaty/machines/graph/graph.h"
#include "treaty/machines/graph/wording.h"

namespace treaty::machines {
namespace {

constexpr std::string_view kVisitedColor = "#16a34a";
constexpr std::string_view kErrorColor = "#dc2626";
constexpr std::string_view kPolicyColor = "#d97706";

// Empty: as the program that draws it likes.
std::string_view color_of(const GraphEdge& edge) {
  if (edge.is_visited) return kVisitedColor;
  if (edge.way == Way::error) return kErrorColor;
  return edge.way == Way::policy ? kPolicyColor : "";
}

// Under the name of a state: what it does, and when it was visited.
std::vector<std::string> lines_of(const GraphNode& node) {
  std::vector<std::string> lines;
  lines.reserve(node.lines.size() + 1);
  for (const std::string& line : node.lines) lines.push_back(shortened(line, kLongestLine));
  if (!node.visits.empty()) lines.push_back("step " + visits_text(node));
  return lines;
}

// --- Mermaid

// Entities are Mermaid's own: a number sign, the code point, a semicolon. What is neither a letter,
// a digit nor harmless punctuation is written so.
std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain = " .,_-()/=+*·…";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80U || is_alphanumeric(c) || kPlain.contains(c)) {
      out += c;
    } else {
      out += byte < 0x20U ? std::string(" ") : fmt::format("#{};", byte);
    }
  }
  return out;
}

std::string mermaid_label(const GraphNode& node) {
  std::string out = fmt::format("<b>{}</b>", escaped(shortened(node.name, kLongestName)));
  for (const std::string& line : lines_of(node)) out += "<br/>" + escaped(line);
  return out;
}

std::string mermaid_node(const GraphNode& node, std::size_t index) {
  const bool is_final = node.is_final;
  std::string out = fmt::format("  s{}{}\"{}\"{}", index, is_final ? "([" : "(",
                                mermaid_label(node), is_final ? "])" : ")");
  if (node.is_last) {
    out += ":::last";
  } else if (!node.visits.empty()) {
    out += ":::visited";
  } else if (is_final) {
    out += ":::final";
  }
  return out + "\n";
}

std::string_view arrow_of(const GraphEdge& edge) {
  if (edge.is_visited) return edge.way == Way::transition ? "==>" : "-.->";
  return edge.way == Way::transition ? "-->" : "-.->";
}

std::string mermaid_edge(const GraphEdge& edge) {
  std::string label;
  for (const std::string& line : label_lines(edge)) {
    if (!label.empty()) label += "<br/>";
    label += escaped(line);
  }
  return fmt::format("  s{} {}{} s{}\n", edge.from, arrow_of(edge),
                     label.empty() ? "" : fmt::format("|\"{}\"|", label), edge.to);
}

std::string mermaid_style(const GraphEdge& edge, std::size_t index) {
  const std::string_view color = color_of(edge);
  if (color.empty()) return "";
  return fmt::format("  linkStyle {} stroke:{}{}\n", index, color,
                     edge.is_visited ? ",stroke-width:3px" : "");
}

// --- Graphviz

// As a quoted string of the DOT language. A backslash is an escape of labels, so it is doubled.
std::string quoted_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20U ? ' ' : c;
  }
  return out;
}

std::string dot_node(const GraphNode& node, std::size_t index) {
  std::string label = quoted_label(shortened(node.name, kLongestName));
  for (const std::string& line : lines_of(node)) label += "\\n" + quoted_label(line);
  std::string attributes = fmt::format("label=\"{}\"", label);
  if (node.is_final) attributes += ", peripheries=2";
  if (!node.visits.empty()) {
    attributes += fmt::format(", color=\"{}\", penwidth={}", kVisitedColor, node.is_last ? 3 : 2);
  }
  return fmt::format("  s{} [{}];\n", index, attributes);
}

std::string dot_edge(const GraphEdge& edge) {
  std::string label;
  for (const std::string& line : label_lines(edge)) {
    label += (label.empty() ? "" : "\\n") + quoted_label(line);
  }
  std::string attributes = fmt::format("label=\"{}\"", label);
  if (edge.way == Way::error) attributes += ", style=dashed";
  if (edge.way == Way::policy) attributes += ", style=dotted";
  if (const std::string_view color = color_of(edge); !color.empty()) {
    attributes += fmt::format(", color=\"{}\", fontcolor=\"{}\"", color, color);
  }
  if (edge.is_visited) attributes += ", penwidth=2";
  return fmt::format("  s{} -> s{} [{}];\n", edge.from, edge.to, attributes);
}

}  // namespace

std::string mermaid_of(const Graph& graph) {
  std::string out = "flowchart TD\n";
  if (!graph.nodes.empty()) out += fmt::format("  begin(( )) --> s{}\n", graph.initial);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) out += mermaid_node(graph.nodes[i], i);
  for (const GraphEdge& edge : graph.edges) out += mermaid_edge(edge);
  // The way from the beginning is the first one.
  for (std::size_t i = 0; i < graph.edges.size(); ++i) out += mermaid_style(graph.edges[i], i + 1);
  out += "  classDef final stroke-width:3px\n";
  out += "  classDef visited stroke:#16a34a,stroke-width:2px\n";
  out += "  classDef last stroke:#16a34a,stroke-width:4px\n";
  return out;
}

std::string dot_of(const Graph& graph) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n", quoted_label(shortened(graph.name, kLongestName)));
  out += "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n";
  out += "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  if (!graph.nodes.empty()) {
    out += fmt::format("  begin [shape=point, label=\"\"];\n  begin -> s{};\n", graph.initial);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) out += dot_node(graph.nodes[i], i);
  for (const GraphEdge& edge : graph.edges) out += dot_edge(edge);
  return out + "}\n";
}

}  // namespace treaty::machines
