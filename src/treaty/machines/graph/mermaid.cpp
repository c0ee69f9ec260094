#include "treaty/machines/graph/mermaid.h"

#include <fmt/format.h>

#include "treaty/machines/graph/wording.h"

namespace treaty::machines {
namespace {

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

std::string node_text(const GraphNode& node) {
  std::string out = fmt::format("<b>{}</b>", escaped(shortened(node.name, kLongestName)));
  for (const std::string& line : node.lines) {
    out += "<br/>" + escaped(shortened(line, kLongestLine));
  }
  if (!node.visits.empty()) out += "<br/>" + escaped("step " + visits_text(node));
  return out;
}

std::string node_line(const GraphNode& node, std::size_t index) {
  const bool is_final = node.is_final;
  std::string out = fmt::format("  s{}{}\"{}\"{}", index, is_final ? "([" : "(", node_text(node),
                                is_final ? "])" : ")");
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

std::string edge_line(const GraphEdge& edge) {
  std::string label;
  for (const std::string& line : label_lines(edge)) {
    if (!label.empty()) label += "<br/>";
    label += escaped(line);
  }
  return fmt::format("  s{} {}{} s{}\n", edge.from, arrow_of(edge),
                     label.empty() ? "" : fmt::format("|\"{}\"|", label), edge.to);
}

std::string edge_style(const GraphEdge& edge, std::size_t index) {
  if (edge.is_visited)
    return fmt::format("  linkStyle {} stroke:#16a34a,stroke-width:3px\n", index);
  if (edge.way == Way::error) return fmt::format("  linkStyle {} stroke:#dc2626\n", index);
  if (edge.way == Way::policy) return fmt::format("  linkStyle {} stroke:#d97706\n", index);
  return "";
}

}  // namespace

std::string mermaid_of(const Graph& graph) {
  std::string out = "flowchart TD\n";
  if (!graph.nodes.empty()) out += fmt::format("  begin(( )) --> s{}\n", graph.initial);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) out += node_line(graph.nodes[i], i);
  for (const GraphEdge& edge : graph.edges) out += edge_line(edge);
  // The way from the beginning is the first one.
  for (std::size_t i = 0; i < graph.edges.size(); ++i) out += edge_style(graph.edges[i], i + 1);
  out += "  classDef final stroke-width:3px\n";
  out += "  classDef visited stroke:#16a34a,stroke-width:2px\n";
  out += "  classDef last stroke:#16a34a,stroke-width:4px\n";
  return out;
}

}  // namespace treaty::machines
