#include "treaty/templates/expression.h"

#include <array>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/templates/language/evaluation.h"
#include "treaty/templates/language/parser.h"

namespace treaty::templates {

using language::Dialect;
using language::Evaluation;
using language::Parser;

struct Expression::ExpressionNode {
  language::ExpressionNode tree;
  std::array<bool, 4> is_named{};  // By root.
};

std::expected<Expression, SyntaxFault> Expression::parse(std::string_view text) {
  if (!is_utf8(text)) return std::unexpected(SyntaxFault{"the text is not UTF-8", 0});
  auto node = std::make_shared<ExpressionNode>();
  Parser parser(text, Dialect::condition);
  if (parser.token().kind == language::TokenKind::end && !parser.fault()) {
    node->tree.content = language::Literal{true};
    return Expression(std::move(node));
  }
  node->tree = parser.expression();
  if (parser.token().kind != language::TokenKind::end)
    parser.fail_at_token("an operator or the end");
  if (parser.fault()) return std::unexpected(*parser.fault());
  for (std::size_t root = 0; root < node->is_named.size(); ++root) {
    node->is_named[root] = parser.has_named(static_cast<language::Root>(root));
  }
  return Expression(std::move(node));
}

std::expected<Dynamic, std::string> Expression::evaluate(const Scope& scope) const {
  TREATY_TRY(auto value, Evaluation(scope, Dialect::condition).evaluate(root_->tree));
  return std::move(value).take();
}

std::expected<bool, std::string> Expression::holds(const Scope& scope) const {
  TREATY_TRY(const auto value, Evaluation(scope, Dialect::condition).evaluate(root_->tree));
  return value.is_true();
}

bool Expression::names(std::string_view name) const {
  const auto root = static_cast<std::size_t>(language::root_of(name));
  return root < root_->is_named.size() && root_->is_named[root];
}

}  // namespace treaty::templates
