#include "treaty/templates/language/tree.h"

namespace treaty::templates::language {
namespace {

class Walk {
 public:
  explicit Walk(const std::function<void(const ExpressionNode&)>& visit) : visit_(visit) {}

  void operator()(const Literal&) const {}
  void operator()(const Name&) const {}
  void operator()(const Negation& node) const { visit_(*node.operand); }
  void operator()(const Not& node) const { visit_(*node.operand); }
  void operator()(const Logic& node) const { all(node.operands); }
  void operator()(const Comparisons& node) const { all(node.operands); }
  void operator()(const Calculation& node) const { all(node.operands); }
  void operator()(const ListOf& node) const { all(node.items); }
  void operator()(const ObjectOf& node) const {
    for (std::size_t at = 0; at < node.keys.size(); ++at) {
      visit_(node.keys[at]);
      visit_(node.values[at]);
    }
  }
  void operator()(const Choice& node) const {
    visit_(*node.value);
    visit_(*node.condition);
    if (node.otherwise != nullptr) visit_(*node.otherwise);
  }
  void operator()(const Access& node) const {
    visit_(*node.base);
    for (const Step& step : node.steps) {
      if (const auto* index = std::get_if<Index>(&step.content)) visit_(*index->key);
      if (const auto* filtering = std::get_if<Filtering>(&step.content)) {
        for (const Argument& argument : filtering->arguments) visit_(argument.value);
      }
    }
  }

 private:
  void all(const std::vector<ExpressionNode>& nodes) const {
    for (const ExpressionNode& node : nodes) visit_(node);
  }

  const std::function<void(const ExpressionNode&)>& visit_;
};

}  // namespace

void for_each_child(const ExpressionNode& node,
                    const std::function<void(const ExpressionNode&)>& visit) {
  std::visit(Walk(visit), node.content);
}

}  // namespace treaty::templates::language
