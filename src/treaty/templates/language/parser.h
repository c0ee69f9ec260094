// Reads an expression into a tree, by recursive descent. Both dialects have the same levels; what
// only one of them has is asked for where it stands.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/templates/language/tokens.h"
#include "treaty/templates/language/tree.h"
#include "treaty/templates/template.h"

namespace treaty::templates::language {

// A variable of a template, and where it stands.
struct NamedVariable {
  std::string name;
  std::size_t offset = 0;
};

class Parser {
 public:
  // `closer` and `offset`: of the tag that the expression stands in.
  Parser(std::string_view text, Dialect dialect, std::size_t offset = 0,
         std::string_view closer = "");

  // One expression. After a fault the tree is of no use, and the parser is at its end.
  ExpressionNode expression();

  // The same, but an `if` after it is not part of it: `for item in items if condition`.
  ExpressionNode expression_before_if() { return disjunction(); }

  const std::optional<SyntaxFault>& fault() const { return fault_; }
  void fail(std::size_t offset, std::string message);
  void fail_at_token(std::string_view expected);

  // The token after what was read; whoever reads tags looks at it and passes over it.
  const Token& token() const { return token_; }
  Token take();
  bool skip(std::string_view word);

  bool has_named(Root root) const { return named_[static_cast<std::size_t>(root)]; }

  // The variables that were named since the last time it was asked: names beyond the four roots.
  std::vector<NamedVariable> take_variables() { return std::exchange(variables_, {}); }

 private:
  // One level more, as long as it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  bool is_condition() const { return dialect_ == Dialect::condition; }
  ExpressionNode choice();
  ExpressionNode disjunction();
  ExpressionNode conjunction();
  ExpressionNode logic(std::string_view word, ExpressionNode (Parser::*operand)());
  ExpressionNode negated();
  ExpressionNode comparison();
  ExpressionNode sum();
  ExpressionNode concatenation();
  ExpressionNode product();
  ExpressionNode tested();
  ExpressionNode unary();
  ExpressionNode access();
  ExpressionNode atom();
  ExpressionNode name_or_constant();
  ExpressionNode parentheses();
  ExpressionNode list();
  ExpressionNode object();
  std::optional<Step> step();
  std::optional<Step> member();
  std::optional<Step> index();
  std::optional<Step> filtering();
  std::optional<Step> testing();
  std::vector<Argument> arguments(const filters::Filter& filter);
  std::optional<Comparison> comparison_operator();
  ExpressionNode chain(ExpressionNode (Parser::*operand)(), std::span<const Arithmetic> operators);

  Tokens tokens_;
  Dialect dialect_;
  Token token_;
  std::size_t nesting_ = 0;
  std::array<bool, 5> named_{};
  std::vector<NamedVariable> variables_;
  std::optional<SyntaxFault> fault_;
};

inline Child boxed(ExpressionNode node) {
  return std::make_unique<ExpressionNode>(std::move(node));
}

// Names that mean something else.
bool is_reserved(std::string_view name);

}  // namespace treaty::templates::language
