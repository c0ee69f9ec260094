#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/machines/reading/source.h"

namespace treaty::machines {
namespace {

using yaml::Kind;
using yaml::Node;

// Lines and columns of offsets that come in ascending order.
class Ruler {
 public:
  explicit Ruler(std::string_view text) : text_(text) {}

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
  Converter(std::string_view text, std::size_t most) : ruler_(text), left_(most) {}

  bool has_room() const { return left_ > 0; }

  Node convert(json::Value value) {
    Node node;
    ruler_.mark(node, value.begin());
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

  Ruler ruler_;
  std::size_t left_;
};

Error fault_at(std::string_view text, std::size_t offset, std::string message) {
  Node place;
  Ruler(text).mark(place, std::min(offset, text.size()));
  return {ErrorCode::not_a_document, std::move(message),
          fmt::format("{}:{}", place.line, place.column)};
}

}  // namespace

std::expected<Node, Error> json_tree(std::string_view text, const yaml::ReadOptions& options) {
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

}  // namespace treaty::machines
