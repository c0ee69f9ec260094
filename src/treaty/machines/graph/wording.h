// The words of a drawing: cut and wrapped so that they fit, and how wide they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/text.h"
#include "treaty/machines/graph/graph.h"

namespace treaty::machines {

// In characters.
constexpr std::size_t kLongestName = 32;
constexpr std::size_t kLongestLine = 40;

// The text on one line, at most so many characters, the last one `…` when something is missing.
std::string shortened(std::string_view text, std::size_t most);

// The labels of an edge as lines that are short enough, few enough.
std::vector<std::string> label_lines(const GraphEdge& edge);

// "1, 4, 7", or the first ones of them.
std::string visits_text(const GraphNode& node);

}  // namespace treaty::machines
