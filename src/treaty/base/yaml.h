// YAML in: a tree of values that know their line and column, so that a wrong one can be pointed at.
// Only this file's .cpp knows yaml-cpp. Anchors and aliases are allowed up to a bounded size of the
// expanded tree; duplicate keys, tags of programs and more than one document are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/base/error.h"

namespace treaty::yaml {

enum class Kind : std::uint8_t { null, boolean, integer, decimal, string, list, map };

struct Node {
  Kind kind = Kind::null;
  int line = 0;    // From 1.
  int column = 0;  // From 1.
  bool boolean = false;
  std::int64_t integer = 0;
  double decimal = 0;  // Of an integer, too.
  std::string text{};  // Of every scalar: as it was written.
  std::vector<Node> items{};
  std::vector<std::pair<Node, Node>> members{};  // Key and value, in order.

  bool is_scalar() const { return kind != Kind::list && kind != Kind::map; }
  const Node* find(std::string_view key) const;  // Of a map.
};

struct YamlOptions {
  std::size_t max_size = std::size_t{10} << 20U;
  std::size_t max_nodes = 1'000'000;  // After aliases are expanded.
  std::size_t max_depth = 64;
  std::size_t max_flow_entries = 250'000;  // Commas and opening brackets within one value.
};

// The error's `where` is "line:column".
std::expected<Node, Error> read(std::string_view text, const YamlOptions& options = {});

// The tree as JSON text.
std::string to_json(const Node& node);

}  // namespace treaty::yaml
