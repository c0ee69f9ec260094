// The text of a machine file as a tree.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using yaml::Kind;
using yaml::Node;

constexpr std::string_view kMergeKey = "<<";

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

// Lines and columns of offsets that come in ascending order.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}

  void mark(Node& node, std::size_t offset) {
    for (; at_ < offset; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
    node.line = line_;
    node.column = static_cast<int>(offset - line_begin_) + 1;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

class Converter {
 public:
  Converter(std::string_view text, std::size_t most) : lines_(text), left_(most) {}

  bool has_room() const { return left_ > 0; }

  Node convert(json::Value value) {
    Node node;
    lines_.mark(node, value.begin());
    if (left_ == 0) return node;
    --left_;
    switch (value.type()) {
      case json::Type::null: node.text = "null"; break;
      case json::Type::boolean:
        node.kind = Kind::boolean;
        node.boolean = value.boolean();
        node.text = value.source();
        break;
      case json::Type::integer:
      case json::Type::decimal: convert_number(value, node); break;
      case json::Type::string:
        node.kind = Kind::string;
        node.text = value.text();
        break;
      case json::Type::array:
        node.kind = Kind::list;
        for (const json::Value element : value.elements()) node.items.push_back(convert(element));
        break;
      case json::Type::object:
        node.kind = Kind::map;
        for (const auto& [name, content] : value.members()) {
          Node key = convert(name);
          node.members.emplace_back(std::move(key), convert(content));
        }
        break;
    }
    return node;
  }

 private:
  static void convert_number(json::Value value, Node& node) {
    const auto integer = value.integer();
    node.kind = integer ? Kind::integer : Kind::decimal;
    node.integer = integer.value_or(0);
    node.decimal = value.number();
    node.text = value.source();
  }

  LineCounter lines_;
  std::size_t left_;
};

Error fault_at(std::string_view text, std::size_t offset, std::string message) {
  Node place;
  LineCounter(text).mark(place, std::min(offset, text.size()));
  return {ErrorCode::not_a_document, std::move(message),
          fmt::format("{}:{}", place.line, place.column)};
}

// The tree of a text that is grammatical JSON. The error's `where` is "line:column".
std::expected<Node, Error> json_tree(std::string_view text, const yaml::YamlOptions& options) {
  const json::Document document(text,
                                {.max_size = options.max_size, .max_depth = options.max_depth});
  if (!document.faults().empty()) {
    const json::Fault& fault = document.faults().front();
    return std::unexpected(fault_at(text, fault.offset, fault.message));
  }
  Converter converter(text, options.max_nodes);
  Node root = converter.convert(*document.root());
  if (converter.has_room()) return root;
  return std::unexpected(fault_at(text, 0, fmt::format("more than {} values", options.max_nodes)));
}

std::expected<Node, Error> read_tree(std::string_view text) {
  const yaml::YamlOptions options;
  // JSON is YAML but for its escapes of characters past U+FFFF and its tabs.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool may_be_json = first != std::string_view::npos && text[first] == '{';
  if (may_be_json && text.size() <= options.max_size && json::is_json(text)) {
    return json_tree(text, options);
  }
  if (opens_too_many_brackets(text)) {
    return fail(ErrorCode::not_a_document, "thousands of brackets are open and never closed",
                "1:1");
  }
  return yaml::read(text, options);
}

std::string kind_of_root(const Node& root) {
  if (root.kind == Kind::null) return "the file is empty";
  return root.kind == Kind::list ? "the file holds a list" : "the file holds a single value";
}

}  // namespace

std::expected<Node, Diagnostic> read_source(std::string_view text) {
  auto root = read_tree(text);
  if (!root) {
    Diagnostic finding = diagnostic_of(root.error());
    finding.rule = "MCH-01";
    return std::unexpected(std::move(finding));
  }
  root->line = root->column = 1;
  if (root->kind != Kind::map) {
    return std::unexpected(
        Diagnostic{.rule = "MCH-01",
                   .line = 1,
                   .column = 1,
                   .message = kind_of_root(*root) + "; a machine is a mapping",
                   .hint = "it begins with `spec: flatmachine`, and its states are in `data`"});
  }
  apply_merges(*root);
  return std::move(*root);
}

}  // namespace treaty::machines
