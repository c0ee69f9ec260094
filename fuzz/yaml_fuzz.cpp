// Fuzzes the YAML reader: whatever the bytes are, it ends with a tree within its bounds, whose JSON
// is JSON, or with an error that names a place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "require.h"
#include "treaty/base/json.h"
#include "treaty/base/yaml.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

std::size_t count(const yaml::Node& node) {
  std::size_t nodes = 1;
  require(node.line >= 1 && node.column >= 1);
  for (const yaml::Node& item : node.items) nodes += count(item);
  for (const auto& [key, value] : node.members) nodes += count(key) + count(value);
  return nodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = yaml::read(text, {.max_nodes = 1'000});
  if (!node) {
    require(!node.error().message.empty() && node.error().where.contains(':'));
    return 0;
  }
  require(count(*node) <= 1'000);
  const std::string json = yaml::to_json(*node);
  require(json::is_json(json));
  return 0;
}
