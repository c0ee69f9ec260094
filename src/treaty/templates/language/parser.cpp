#include "treaty/templates/language/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "treaty/templates/language/operations.h"

namespace treaty::templates::language {
namespace {

constexpr std::array<std::string_view, 15> kReserved = {"and",  "or",    "not",   "in",   "is",
                                                        "if",   "else",  "elif",  "for",  "true",
                                                        "True", "false", "False", "none", "None"};

std::string described(const Token& token) {
  if (token.kind == TokenKind::end) return "the end";
  return quoted_name(token.source);
}

}  // namespace

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != kReserved.end();
}

Root root_of(std::string_view name) {
  if (name == "context") return Root::context;
  if (name == "input") return Root::input;
  if (name == "output") return Root::output;
  if (name == "result") return Root::result;
  return Root::other;
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (++parser_.nesting_ > kDeepestNesting) {
    parser_.fail(parser_.token_.offset,
                 fmt::format("nested more than {} levels deep", kDeepestNesting));
  }
}

Parser::Parser(std::string_view text, Dialect dialect, std::size_t offset, std::string_view closer)
    : tokens_(text, dialect, offset, closer), dialect_(dialect) {
  take();
}

// The first fault is the one that is told. Reading goes on with an end that never ends, so that
// nobody in between has to look.
void Parser::fail(std::size_t offset, std::string message) {
  if (!fault_) fault_ = SyntaxFault{std::move(message), offset};
  token_ = Token{.offset = offset};
}

void Parser::fail_at_token(std::string_view expected) {
  fail(token_.offset, fmt::format("expected {}, not {}", expected, described(token_)));
}

Token Parser::take() {
  if (fault_) return token_;
  Token taken = std::move(token_);
  token_ = tokens_.next();
  if (token_.kind == TokenKind::bad) fail(token_.offset, std::move(token_.problem));
  return taken;
}

bool Parser::skip(std::string_view word) {
  if (!token_.is(word)) return false;
  take();
  return true;
}

ExpressionNode Parser::expression() { return is_condition() ? disjunction() : choice(); }

ExpressionNode Parser::choice() {
  ExpressionNode value = disjunction();
  if (!token_.is("if")) return value;
  take();
  ExpressionNode condition = disjunction();
  Child otherwise;
  if (skip("else")) {
    const Nesting nesting(*this);
    if (!fault_) otherwise = boxed(choice());
  }
  return {Choice{boxed(std::move(value)), boxed(std::move(condition)), std::move(otherwise)}};
}

ExpressionNode Parser::disjunction() { return logic("or", &Parser::conjunction); }
ExpressionNode Parser::conjunction() { return logic("and", &Parser::negated); }

ExpressionNode Parser::logic(std::string_view word, ExpressionNode (Parser::*operand)()) {
  ExpressionNode first = (this->*operand)();
  if (!token_.is(word)) return first;
  Logic logic{.is_and = word == "and", .operands = {}};
  logic.operands.push_back(std::move(first));
  while (skip(word)) logic.operands.push_back((this->*operand)());
  return {std::move(logic)};
}

ExpressionNode Parser::negated() {
  if (!token_.is("not")) return comparison();
  const Nesting nesting(*this);
  take();
  if (fault_) return {};
  return {Not{boxed(negated())}};
}

std::optional<Comparison> Parser::comparison_operator() {
  constexpr std::array<std::pair<std::string_view, Comparison>, 7> kOperators = {{
      {"==", Comparison::equal},
      {"!=", Comparison::unequal},
      {"<", Comparison::less},
      {"<=", Comparison::less_or_equal},
      {">", Comparison::greater},
      {">=", Comparison::greater_or_equal},
      {"in", Comparison::in},
  }};
  for (const auto& [word, comparison] : kOperators) {
    if (skip(word)) return comparison;
  }
  if (!skip("not")) return std::nullopt;
  if (!skip("in")) fail_at_token("'in' after 'not'");
  return Comparison::not_in;
}

ExpressionNode Parser::comparison() {
  Comparisons chain;
  chain.operands.push_back(sum());
  while (const auto comparison = comparison_operator()) {
    chain.operators.push_back(*comparison);
    chain.operands.push_back(sum());
  }
  if (chain.operators.empty()) return std::move(chain.operands.front());
  return {std::move(chain)};
}

ExpressionNode Parser::chain(ExpressionNode (Parser::*operand)(),
                             std::span<const Arithmetic> operators) {
  Calculation calculation;
  calculation.operands.push_back((this->*operand)());
  while (true) {
    const auto found = std::ranges::find_if(
        operators, [&](Arithmetic known) { return token_.is(symbol_of(known)); });
    if (found == operators.end()) break;
    take();
    calculation.operators.push_back(*found);
    calculation.operands.push_back((this->*operand)());
  }
  if (calculation.operators.empty()) return std::move(calculation.operands.front());
  return {std::move(calculation)};
}

ExpressionNode Parser::sum() {
  constexpr std::array kOperators = {Arithmetic::add, Arithmetic::subtract};
  return chain(is_condition() ? &Parser::product : &Parser::concatenation, kOperators);
}

ExpressionNode Parser::concatenation() {
  constexpr std::array kOperators = {Arithmetic::join};
  return chain(&Parser::product, kOperators);
}

ExpressionNode Parser::product() {
  constexpr std::array kOperators = {Arithmetic::multiply, Arithmetic::divide,
                                     Arithmetic::floor_divide, Arithmetic::remainder};
  const auto operators = std::span(kOperators).first(is_condition() ? 2 : 4);
  return chain(is_condition() ? &Parser::unary : &Parser::tested, operators);
}

// `-1 is number` asks about -1.
ExpressionNode Parser::tested() {
  ExpressionNode operand = unary();
  if (!skip("is")) return operand;
  Access access{boxed(std::move(operand)), {}};
  for (auto next = testing(); next; next = step()) access.steps.push_back(*std::move(next));
  return {std::move(access)};
}

ExpressionNode Parser::unary() {
  if (!token_.is("-")) return access();
  const Nesting nesting(*this);
  take();
  if (fault_) return {};
  ExpressionNode operand = unary();
  if (const auto* literal = std::get_if<Literal>(&operand.content);
      literal != nullptr && literal->value.is_number()) {
    if (auto value = language::negated(*numeric_of(literal->value))) {
      return {Literal{*std::move(value)}};
    }
  }
  return {Negation{boxed(std::move(operand))}};
}

}  // namespace treaty::templates::language
