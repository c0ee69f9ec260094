// A graph with places: what the writers of drawings draw. Lengths are pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

struct Point {
  double x = 0;
  double y = 0;
};

struct NodeBox {
  Point corner;  // Upper left.
  double width = 0;
  double height = 0;
  std::string title{};
  std::vector<std::string> lines{};
};

enum class Shape : std::uint8_t {
  curve,    // Bends to every second point, straight to the next one, bends to the last.
  corners,  // Straight from point to point, the corners rounded.
};

struct EdgeRoute {
  Shape shape = Shape::corners;
  std::vector<Point> points{};
  std::vector<std::string> lines{};  // Of the label,
  Point label{};                     // its middle,
  double label_width = 0;            // and its size.
  double label_height = 0;
};

struct Layout {
  double width = 0;
  double height = 0;
  Point begin{};  // Where the mark of the initial state stands, above its box.
  std::vector<NodeBox> nodes{};
  std::vector<EdgeRoute> edges{};
};

// Too many of either make no picture.
constexpr std::size_t kMostDrawnNodes = 2000;
constexpr std::size_t kMostDrawnEdges = 10'000;

Layout layout_of(const Graph& graph);

}  // namespace treaty::machines
