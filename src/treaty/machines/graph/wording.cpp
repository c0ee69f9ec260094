#include "treaty/machines/graph/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace treaty::machines {
namespace {

constexpr std::size_t kWidestLabel = 30;   // Characters of a line,
constexpr std::size_t kMostLines = 4;      // and lines of a label.
constexpr std::size_t kMostBytes = 2'000;  // A text of zero-width characters has no other bound.

// White space and control characters are one space, wherever they stand.
std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_space = static_cast<unsigned char>(c) <= 0x20U || c == 0x7F;
    if (!is_space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return std::string(utf8_prefix(trimmed(out), kMostBytes));
}

// Breaks at spaces where it can.
std::vector<std::string> wrapped(std::string_view text) {
  std::vector<std::string> out;
  const std::string line = on_one_line(text);
  std::string_view rest = line;
  while (columns_of(rest) > kWidestLabel) {
    const std::string_view piece = fitting(rest, kWidestLabel);
    const std::size_t space = rest.substr(0, piece.size() + 1).rfind(' ');
    const bool has_space = space != std::string_view::npos && space > piece.size() / 3;
    const std::size_t end = has_space ? space : piece.size();
    out.emplace_back(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
    if (out.size() > kMostLines) return out;
  }
  if (!rest.empty()) out.emplace_back(rest);
  return out;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
  std::string line = on_one_line(text);
  if (columns_of(line) <= most) return line;
  return std::string(fitting(line, most - 1)) + "…";
}

std::vector<std::string> label_lines(const GraphEdge& edge) {
  std::vector<std::string> out;
  // Codes of errors are short: they stand side by side.
  if (edge.way != Way::transition) {
    out = wrapped(fmt::format("{}", fmt::join(edge.labels, ", ")));
  } else {
    for (const std::string& label : edge.labels) {
      if (out.size() > kMostLines) break;
      std::ranges::move(wrapped(label), std::back_inserter(out));
    }
  }
  if (out.size() > kMostLines) {
    out.resize(kMostLines);
    out.back() = shortened(out.back(), kWidestLabel - 1) + "…";
  }
  return out;
}

std::string visits_text(const GraphNode& node) {
  constexpr std::size_t kMost = 4;
  std::string out = fmt::format(
      "{}", fmt::join(std::span(node.visits).first(std::min(kMost, node.visits.size())), ", "));
  if (node.visits.size() > kMost) out += fmt::format(" … {}", node.visits.back());
  return out;
}

}  // namespace treaty::machines
