// Machines as graphs, and graphs as drawings: nothing overlaps, nothing escapes, paths are marked.
#include "treaty/machines/graph/graph.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "treaty/machines/graph/layout.h"
#include "treaty/machines/graph/wording.h"
#include "treaty/machines/load.h"

namespace treaty::machines {
namespace {

Graph graph(std::string_view states, const std::vector<std::string>& path = {}) {
  const Loaded loaded =
      load_machine(fmt::format(R"({{spec: flatmachine, spec_version: "4.2.1", data: {{
        agents: {{w: x}}, machines: {{c: y, d: z}}, states: {{{}}}}}}})",
                               states),
                   {});
  REQUIRE(loaded.machine != nullptr);
  return graph_of(*loaded.machine, path);
}

std::vector<std::string> ways(const Graph& graph) {
  std::vector<std::string> out;
  for (const GraphEdge& edge : graph.edges) {
    constexpr std::string_view kWays = "TEPR";
    out.push_back(fmt::format("{}{}{}{}", graph.nodes[edge.from].name,
                              kWays[static_cast<std::size_t>(edge.way)], graph.nodes[edge.to].name,
                              edge.is_visited ? "!" : ""));
  }
  return out;
}

using Ways = std::vector<std::string>;

constexpr std::string_view kBusy = R"(
  a: {agent: w, on_error: z, transitions: [{condition: context.one, to: b}, {condition: context.two, to: c}, {to: a}]},
  b: {machine: [c, d], on_error: {timeout: b, default: z}, transitions: [{condition: context.three, to: a}, {to: c}]},
  c: {action: act, transitions: [{condition: context.four, to: d}, {condition: context.five, to: a}, {to: e}]},
  d: {wait_for: x, transitions: [{to: e}, {to: b}]}, e: {transitions: [{to: f}]}, f: {transitions: [{to: g}]},
  g: {on_error: a, transitions: [{condition: context.six, to: b}, {to: y}]},
  y: {type: final}, z: {type: final}, lost: {transitions: [{to: lost2}]}, lost2: {transitions: [{to: lost}, {to: y}]})";

bool overlap(const NodeBox& left, const NodeBox& right) {
  return left.corner.x < right.corner.x + right.width &&
         right.corner.x < left.corner.x + left.width &&
         left.corner.y < right.corner.y + right.height &&
         right.corner.y < left.corner.y + left.height;
}

NodeBox label_box(const EdgeRoute& route) {
  return {.corner = {route.label.x - route.label_width / 2, route.label.y - route.label_height / 2},
          .width = route.label_width,
          .height = route.label_height};
}

}  // namespace

TEST_CASE("states say what they do") {
  const Graph drawn = graph(
      "a: {agent: w, execution: {type: retry}, tool_loop: true, transitions: [{to: b}]},"
      "b: {foreach: context.x, machine: c, mode: any, transitions: [{to: c}]},"
      "c: {action: treaty.wait, launch: d, transitions: [{to: d}]},"
      "d: {wait_for: x, transitions: [{to: e}]}, e: {type: final}");

  CHECK(drawn.nodes[0].lines == std::vector<std::string>{"agent w · retry · tools"});
  CHECK(drawn.nodes[0].doing == Doing::agent);
  CHECK(drawn.nodes[0].is_initial);
  CHECK(drawn.nodes[1].lines == std::vector<std::string>{"machine c · for each item · any"});
  CHECK(drawn.nodes[2].lines == std::vector<std::string>{"action treaty.wait", "launch d"});
  CHECK(drawn.nodes[3].doing == Doing::wait);
  CHECK(drawn.nodes[4].is_final);
}

TEST_CASE("ways are transitions, errors and the policy's, one of each between two states") {
  const Graph drawn = graph(
      "a: {agent: w, hooks: rate-limit, on_error: {timeout: b, rate_limit: b, default: end}, "
      "transitions: [{condition: context.x, to: b}, {condition: context.y, to: b}, {to: end}]},"
      "b: {transitions: [{to: end}]}, short_wait: {action: treaty.wait, transitions: [{to: a}]},"
      "end: {type: final}");

  CHECK(ways(drawn) ==
        Ways{"aTb", "aTend", "aEb", "aEend", "aPshort_wait", "bTend", "short_waitTa"});
  CHECK(drawn.edges[0].labels == std::vector<std::string>{"context.x", "context.y"});
  CHECK(drawn.edges[1].labels == std::vector<std::string>{"otherwise"});
  CHECK(drawn.edges[2].labels == std::vector<std::string>{"timeout", "rate_limit"});
  CHECK(drawn.edges[3].labels == std::vector<std::string>{"error"});
  CHECK(drawn.edges[4].labels == std::vector<std::string>{"rate limit: minute"});
  CHECK(drawn.edges[5].labels.empty());
}

TEST_CASE("the path of an execution marks states, ways and its end") {
  const Graph drawn = graph(
      "a: {agent: w, on_error: c, transitions: [{to: b}]}, b: {transitions: [{to: a}, {to: c}]},"
      "c: {type: final}, d: {type: final}",
      {"a", "b", "a", "c", "gone", "d"});

  CHECK(ways(drawn) == Ways{"aTb!", "aEc!", "bTa!", "bTc"});
  CHECK(drawn.nodes[0].visits == std::vector<std::size_t>{1, 3});
  CHECK(drawn.nodes[2].visits == std::vector<std::size_t>{4});
  CHECK(drawn.nodes[3].is_last);
  CHECK_FALSE(drawn.nodes[0].is_last);
  CHECK(ways(graph("a: {transitions: [{to: b}]}, b: {type: final}, c: {type: final}",
                   {"a", "c"})) == Ways{"aTb", "aRc!"});
}

TEST_CASE("boxes and labels do not overlap, and all is inside of the drawing") {
  const Graph drawn = graph(kBusy);

  const Layout layout = layout_of(drawn);

  std::vector<NodeBox> boxes = layout.nodes;
  for (const EdgeRoute& route : layout.edges) {
    REQUIRE(route.points.size() >= 2);
    if (!route.lines.empty()) boxes.push_back(label_box(route));
    for (const Point& point : route.points) {
      CHECK(point.x > 0);
      CHECK(point.x < layout.width);
      CHECK(point.y > 0);
      CHECK(point.y < layout.height);
    }
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    CHECK(boxes[i].corner.x >= 0);
    CHECK(boxes[i].corner.x + boxes[i].width <= layout.width);
    CHECK(boxes[i].corner.y + boxes[i].height <= layout.height);
    for (std::size_t j = 0; j < i; ++j) {
      INFO(i << " and " << j);
      CHECK_FALSE(overlap(boxes[i], boxes[j]));
    }
  }
}

TEST_CASE("a drawing is no wider than what is in it") {
  const Layout layout = layout_of(graph(kBusy));
  double right = 0;
  for (const NodeBox& box : layout.nodes) right = std::max(right, box.corner.x + box.width);
  for (const EdgeRoute& route : layout.edges) {
    right = std::max(right, route.label.x + route.label_width / 2);
    for (const Point& point : route.points) right = std::max(right, point.x);
  }

  CHECK(layout.width - right < 60);
}

TEST_CASE("edges end at the boxes of their states") {
  const Graph drawn = graph(kBusy);
  const Layout layout = layout_of(drawn);
  const auto touches = [](const NodeBox& box, Point point) {
    const bool is_inside =
        point.x >= box.corner.x - 0.01 && point.x <= box.corner.x + box.width + 0.01 &&
        point.y >= box.corner.y - 0.01 && point.y <= box.corner.y + box.height + 0.01;
    return is_inside;
  };

  for (std::size_t i = 0; i < drawn.edges.size(); ++i) {
    INFO(i);
    CHECK(touches(layout.nodes[drawn.edges[i].from], layout.edges[i].points.front()));
    CHECK(touches(layout.nodes[drawn.edges[i].to], layout.edges[i].points.back()));
  }
}

TEST_CASE("a drawing is one SVG without scripts, in which foreign text is text") {
  const Graph drawn = graph(
      R"("<script>alert('x')</script>": {transitions: [{condition: "context.a < 3 and context.b > '&'", to: "]]> \x01"}]},
      "]]> \x01": {type: final})");

  const std::string svg = svg_of(drawn);

  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK_FALSE(svg.contains("<script"));
  CHECK(svg.contains("&lt;script&gt;"));
  CHECK(svg.contains("context.a &lt; 3 and"));
  CHECK_FALSE(svg.contains('\x01'));
  CHECK(svg.contains("prefers-color-scheme: dark"));
}

TEST_CASE("visited states and ways and final states look different in a drawing") {
  const std::string plain = svg_of(graph("a: {transitions: [{to: b}]}, b: {type: final}"));
  const std::string walked =
      svg_of(graph("a: {transitions: [{to: b}]}, b: {type: final}", {"a", "b"}));

  CHECK(plain.contains("class=\"inner\""));
  CHECK_FALSE(plain.contains("class=\"badge\""));
  CHECK_FALSE(plain.contains("\"edge visited\""));
  CHECK(walked.contains("class=\"box passed\""));
  CHECK(walked.contains("class=\"box last\""));
  CHECK(walked.contains("\"edge visited\""));
}

TEST_CASE("a Mermaid chart has the states and ways, with entities for what Mermaid reads") {
  const std::string chart = mermaid_of(graph(
      R"(a: {agent: w, on_error: "x\"y", transitions: [{condition: "context.a == \"q\"", to: "x\"y"}]}, "x\"y": {type: final})",
      {"a"}));

  CHECK(chart == R"(flowchart TD
  begin(( )) --> s0
  s0("<b>a</b><br/>agent w<br/>step 1"):::last
  s1(["<b>x#34;y</b>"]):::final
  s0 -->|"context.a == #34;q#34;"| s1
  s0 -.->|"error"| s1
  linkStyle 2 stroke:#dc2626
  classDef final stroke-width:3px
  classDef visited stroke:#16a34a,stroke-width:2px
  classDef last stroke:#16a34a,stroke-width:4px
)");
}

TEST_CASE("a Graphviz chart has the states and ways, with quotes and backslashes escaped") {
  const std::string chart = dot_of(graph(
      R"(a: {agent: w, on_error: "x\"y", transitions: [{condition: "context.a == \"q\"", to: "x\"y"}]}, "x\"y": {type: final})",
      {"a"}));

  CHECK(chart == R"dot(digraph "machine" {
  node [shape=box, style=rounded, fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  begin [shape=point, label=""];
  begin -> s0;
  s0 [label="a\nagent w\nstep 1", color="#16a34a", penwidth=3];
  s1 [label="x\"y", peripheries=2];
  s0 -> s1 [label="context.a == \"q\""];
  s0 -> s1 [label="error", style=dashed, color="#dc2626", fontcolor="#dc2626"];
}
)dot");
}

TEST_CASE("a Graphviz chart has the ways of the rate-limit policy dotted") {
  const std::string chart = dot_of(
      graph("a: {agent: w, hooks: rate-limit, transitions: [{to: end}]}, short_wait: {action: "
            "treaty.wait, transitions: [{to: a}]}, end: {type: final}"));

  CHECK(chart.contains("label=\"rate limit: minute\", style=dotted"));
  CHECK(!chart.contains("dashed"));
}

TEST_CASE("odd names of states cannot end a string of a Graphviz chart, nor escape anything") {
  Graph odd{.name = "]; x -> y \\", .nodes = {{.name = "\\\" ] -> { \n \x01 日本"}}};

  const std::string chart = dot_of(odd);

  CHECK(chart.starts_with("digraph \"]; x -> y \\\\\" {\n"));
  CHECK(chart.contains("  s0 [label=\"\\\\\\\" ] -> { 日本\"];\n"));
}

TEST_CASE("a label of characters without a width has an end") {
  Graph odd{.name = "m", .nodes = {{.name = "a"}}};
  for (int i = 0; i < 100'000; ++i) odd.nodes[0].name += "\u0301";

  CHECK(dot_of(odd).size() < 5'000);
}

TEST_CASE("labels are wrapped and cut") {
  const GraphEdge edge{.labels = {"context.score >= 8 and context.round < 4 or input.force == true",
                                  std::string(500, 'x')}};

  const std::vector<std::string> lines = label_lines(edge);

  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "context.score >= 8 and");
  CHECK(lines[3].ends_with("…"));
  for (const std::string& line : lines) CHECK(columns_of(line) <= 31);
  CHECK(shortened("日本語日本語", 7) == "日本語…");
  CHECK(shortened("a\n  b\tc", 20) == "a b c");
}

TEST_CASE("a chain of two thousand states with ways back is drawn") {
  std::string states;
  for (int i = 0; i < 1999; ++i) {
    states += fmt::format("s{}: {{on_error: s0, transitions: [{{to: s{}}}]}},", i, i + 1);
  }

  const std::string svg = svg_of(graph(states + "s1999: {type: final}"));

  CHECK(std::ranges::count(svg, '\n') > 6000);
}

}  // namespace treaty::machines
