// The innermost levels: what operators stand between.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/language/parser.h"

namespace treaty::templates::language {
namespace {

bool is_literal(const ExpressionNode& node) {
  return std::holds_alternative<Literal>(node.content);
}

bool is_operator(std::string_view name) {
  return name == "and" || name == "or" || name == "not" || name == "in";
}

bool has(const std::vector<Argument>& arguments, std::size_t parameter) {
  return std::ranges::find(arguments, parameter, &Argument::parameter) != arguments.end();
}

std::optional<Dynamic> constant_of(std::string_view name, bool in_condition) {
  if (name == "true" || name == "True") return Dynamic(true);
  if (name == "false" || name == "False") return Dynamic(false);
  if (name == "None" || name == (in_condition ? "null" : "none")) return Dynamic(nullptr);
  return std::nullopt;
}

}  // namespace

ExpressionNode Parser::access() {
  ExpressionNode base = atom();
  std::vector<Step> steps;
  while (auto next = step()) steps.push_back(*std::move(next));
  if (token_.is("(")) fail(token_.offset, "functions cannot be called");
  if (token_.is("**")) fail(token_.offset, "there is no operator '**'");
  if (steps.empty()) return base;
  return {Access{boxed(std::move(base)), std::move(steps)}};
}

std::optional<Step> Parser::step() {
  if (skip(".")) return member();
  if (token_.is("[")) return index();
  if (is_condition()) return std::nullopt;
  if (skip("|")) return filtering();
  return std::nullopt;
}

std::optional<Step> Parser::member() {
  if (token_.kind == TokenKind::integer && !is_condition()) {
    Token token = take();
    return Step{MemberAccess{std::string(token.source), token.value.get_int64()}};
  }
  if (token_.kind != TokenKind::name) {
    fail_at_token("a name after '.'");
    return std::nullopt;
  }
  return Step{MemberAccess{std::string(take().source)}};
}

std::optional<Step> Parser::index() {
  const Nesting nesting(*this);
  take();
  if (fault_) return std::nullopt;
  if (token_.is(":")) fail(token_.offset, "there are no slices");
  ExpressionNode key = expression();
  if (token_.is(":")) fail(token_.offset, "there are no slices");
  if (!skip("]")) fail_at_token("']'");
  return Step{Index{boxed(std::move(key))}};
}

ExpressionNode Parser::atom() {
  if (token_.kind == TokenKind::integer || token_.kind == TokenKind::literal) {
    Token token = take();
    return {Literal{std::move(token.value)}};
  }
  if (token_.kind == TokenKind::name) return name_or_constant();
  if (token_.is("[")) return list();
  if (token_.is("{") && !is_condition()) return object();
  if (!token_.is("(")) {
    fail_at_token("a value");
    return {};
  }
  return parentheses();
}

// In templates `(1, 2)` is a list like any other.
ExpressionNode Parser::parentheses() {
  const Nesting nesting(*this);
  take();
  if (fault_) return {};
  ExpressionNode inside = expression();
  if (!is_condition() && token_.is(",")) {
    ListOf list;
    list.items.push_back(std::move(inside));
    while (skip(",") && !token_.is(")")) list.items.push_back(expression());
    inside = {std::move(list)};
  }
  if (!skip(")")) fail_at_token("')'");
  return inside;
}

ExpressionNode Parser::name_or_constant() {
  const std::size_t offset = token_.offset;
  const std::string name(token_.source);
  if (auto constant = constant_of(name, is_condition())) {
    take();
    return {Literal{*std::move(constant)}};
  }
  if (is_operator(name) || (!is_condition() && is_reserved(name))) {
    fail_at_token("a value");
    return {};
  }
  const Root root = root_of(name);
  if (is_condition() && root == Root::other) {
    fail(offset, fmt::format("unknown name {}; there are context, input, output and result",
                             quoted_name(name)));
    return {};
  }
  named_[static_cast<std::size_t>(root)] = true;
  if (root == Root::other) variables_.push_back({name, offset});
  take();
  return {Name{name, root}};
}

ExpressionNode Parser::list() {
  const Nesting nesting(*this);
  take();
  ListOf list;
  while (!fault_ && !token_.is("]")) {
    list.items.push_back(expression());
    if (!skip(",")) break;
    if (is_condition() && token_.is("]")) fail_at_token("a value");
  }
  if (!skip("]")) fail_at_token("']'");
  if (!std::ranges::all_of(list.items, is_literal)) return {std::move(list)};
  // The same every time: made once.
  List constant;
  for (ExpressionNode& item : list.items)
    constant.push_back(std::move(std::get<Literal>(item.content).value));
  return {Literal{std::move(constant)}};
}

ExpressionNode Parser::object() {
  const Nesting nesting(*this);
  take();
  ObjectOf object;
  while (!fault_ && !token_.is("}")) {
    object.keys.push_back(expression());
    if (!skip(":")) fail_at_token("':'");
    object.values.push_back(expression());
    if (!skip(",")) break;
  }
  if (!skip("}")) fail_at_token("'}'");
  return {std::move(object)};
}

std::optional<Step> Parser::filtering() {
  if (token_.kind != TokenKind::name) {
    fail_at_token("the name of a filter");
    return std::nullopt;
  }
  const Token name = take();
  const filters::Filter* filter = filters::find_filter(name.source);
  if (filter == nullptr) {
    fail(name.offset, filters::unknown_filter(name.source));
    return std::nullopt;
  }
  Filtering filtering{filter, {}};
  if (token_.is("(")) filtering.arguments = arguments(*filter);
  if (fault_) return std::nullopt;
  for (std::size_t at = 0; at < filter->required; ++at) {
    if (has(filtering.arguments, at)) continue;
    fail(name.offset,
         fmt::format("the filter {} needs '{}'", quoted_name(name.source), filter->parameters[at]));
  }
  return Step{std::move(filtering)};
}

std::vector<Argument> Parser::arguments(const filters::Filter& filter) {
  const Nesting nesting(*this);
  take();
  std::vector<Argument> arguments;
  while (!fault_ && !token_.is(")")) {
    const std::size_t offset = token_.offset;
    std::size_t parameter = arguments.size();
    ExpressionNode value = expression();
    if (const auto* name = std::get_if<Name>(&value.content); name != nullptr && skip("=")) {
      if (name->root == Root::other) variables_.pop_back();  // It names a parameter.
      const auto found = std::ranges::find(filter.parameters, name->name);
      parameter = static_cast<std::size_t>(found - filter.parameters.begin());
      value = expression();
    }
    if (parameter >= filter.parameters.size() || has(arguments, parameter)) {
      fail(offset, fmt::format("the filter '{}' does not take this argument", filter.name));
    }
    arguments.push_back({parameter, std::move(value)});
    if (!skip(",")) break;
  }
  if (!skip(")")) fail_at_token("')'");
  return arguments;
}

std::optional<Step> Parser::testing() {
  const bool is_negated = skip("not");
  if (token_.kind != TokenKind::name) {
    fail_at_token("the name of a test");
    return std::nullopt;
  }
  const Token name = take();
  const filters::Test* test = filters::find_test(name.source);
  if (test == nullptr) {
    fail(name.offset, filters::unknown_test(name.source));
    return std::nullopt;
  }
  if (token_.is("is")) fail(token_.offset, "a test has no further test");
  return Step{Testing{test, is_negated}};
}

}  // namespace treaty::templates::language
