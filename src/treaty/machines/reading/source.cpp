#include "treaty/machines/reading/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "treaty/base/json.h"

namespace treaty::machines {
namespace {

using yaml::Kind;
using yaml::Node;

constexpr std::string_view kMergeKey = "<<";

// Both halves of "line:column"; 1 where there is none.
std::pair<int, int> place_of(std::string_view where) {
  int line = 1;
  int column = 1;
  const char* end = where.data() + where.size();
  const auto [stop, failure] = std::from_chars(where.data(), end, line);
  if (failure == std::errc() && stop != end) std::from_chars(stop + 1, end, column);
  return {line, column};
}

MachineFinding finding_of(const Error& error) {
  const auto [line, column] = place_of(error.where);
  return {.rule = "MCH-01", .line = line, .column = column, .message = error.message};
}

// A member that is not there yet is taken over: what stands in the map itself wins, then what is
// merged first.
void take_over(std::vector<std::pair<Node, Node>>& members, Node& source,
               std::set<std::string>& names) {
  for (auto& [key, value] : source.members) {
    if (names.insert(key.text).second) members.emplace_back(std::move(key), std::move(value));
  }
}

bool is_mergeable(const Node& value) {
  return value.kind == Kind::map ||
         (value.kind == Kind::list && std::ranges::all_of(value.items, [](const Node& item) {
            return item.kind == Kind::map;
          }));
}

// YAML 1.1's merge keys, which the original's reader knows. What is merged is a copy that an alias
// has paid for already.
void apply_merges(Node& node) {
  for (Node& item : node.items) apply_merges(item);
  for (auto& [_, value] : node.members) apply_merges(value);
  const auto merge = std::ranges::find(node.members, kMergeKey,
                                       [](const auto& member) { return member.first.text; });
  if (merge == node.members.end() || !is_mergeable(merge->second)) return;
  Node source = std::move(merge->second);
  node.members.erase(merge);
  std::set<std::string> names;
  for (const auto& [key, _] : node.members) names.insert(key.text);
  std::vector<std::pair<Node, Node>> members;
  if (source.kind == Kind::map) take_over(members, source, names);
  for (Node& item : source.items) take_over(members, item, names);
  std::ranges::move(node.members, std::back_inserter(members));
  node.members = std::move(members);
}

// The parser of YAML keeps hundreds of bytes for every bracket that is open. Texts may hold some
// that are never closed; nobody writes thousands of them.
bool opens_too_many_brackets(std::string_view text) {
  constexpr std::size_t kMost = 10'000;
  std::size_t open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMost) return true;
  }
  return false;
}

std::expected<Node, Error> read_tree(std::string_view text) {
  const yaml::ReadOptions options;
  // JSON is YAML but for its escapes of characters past U+FFFF and its tabs.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool may_be_json = first != std::string_view::npos && text[first] == '{';
  if (may_be_json && text.size() <= options.max_size && json::is_json(text)) {
    return json_tree(text, options);
  }
  if (opens_too_many_brackets(text)) {
    return std::unexpected(
        Error{ErrorCode::not_a_document, "thousands of brackets are open and never closed", "1:1"});
  }
  return yaml::read(text, options);
}

std::string kind_of_root(const Node& root) {
  if (root.kind == Kind::null) return "the file is empty";
  return root.kind == Kind::list ? "the file holds a list" : "the file holds a single value";
}

}  // namespace

std::expected<Node, MachineFinding> read_source(std::string_view text) {
  auto root = read_tree(text);
  if (!root) return std::unexpected(finding_of(root.error()));
  root->line = root->column = 1;
  if (root->kind != Kind::map) {
    return std::unexpected(
        MachineFinding{.rule = "MCH-01",
                       .message = kind_of_root(*root) + "; a machine is a mapping",
                       .hint = "it begins with `spec: flatmachine`, and its states are in `data`"});
  }
  apply_merges(*root);
  return std::move(*root);
}

}  // namespace treaty::machines
