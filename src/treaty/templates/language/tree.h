// Expressions as trees. What stands in a row on one level (`a + b + c`, `a.b.c`, `a and b and c`)
// is one node with many children, so that only what is nested is deep.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "treaty/templates/language/numbers.h"
#include "treaty/templates/value.h"

namespace treaty::templates::filters {
struct Filter;
struct Test;
}  // namespace treaty::templates::filters

namespace treaty::templates::language {

// Deeper nesting of expressions, and of blocks, is refused.
constexpr std::size_t kDeepestNesting = 64;

struct ExpressionNode;
struct Step;
struct Argument;
using Child = std::unique_ptr<ExpressionNode>;

enum class Root : std::uint8_t { context, input, output, result, other };
Root root_of(std::string_view name);

struct Literal {
  Dynamic value;
};

struct Name {
  std::string name;
  Root root;
};

// A value and what is done with it, one thing after the other: `.name`, `[key]`, `|filter`, `is`.
struct Access {
  Child base;
  std::vector<Step> steps;
};

struct Negation {
  Child operand;
};

struct Not {
  Child operand;
};

struct Logic {
  bool is_and;
  std::vector<ExpressionNode> operands;
};

enum class Comparison : std::uint8_t {
  equal,
  unequal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  in,
  not_in,
};

// One comparison less than operands.
struct Comparisons {
  std::vector<ExpressionNode> operands;
  std::vector<Comparison> operators;
};

// One operator less than operands, all of one level.
struct Calculation {
  std::vector<ExpressionNode> operands;
  std::vector<Arithmetic> operators;
};

struct ListOf {
  std::vector<ExpressionNode> items;
};

struct ObjectOf {
  std::vector<ExpressionNode> keys;
  std::vector<ExpressionNode> values;
};

// `value if condition else otherwise`; without `else` it may be undefined.
struct Choice {
  Child value;
  Child condition;
  Child otherwise;
};

struct ExpressionNode {
  std::variant<Literal, Name, Access, Negation, Not, Logic, Comparisons, Calculation, ListOf,
               ObjectOf, Choice>
      content;
};

struct MemberAccess {
  std::string name;
  std::optional<std::int64_t> position{};  // `.0`
};

struct Index {
  Child key;
};

struct Filtering {
  const filters::Filter* filter;
  std::vector<Argument> arguments;
};

struct Testing {
  const filters::Test* test;
  bool is_negated;
};

struct Step {
  std::variant<MemberAccess, Index, Filtering, Testing> content;
};

struct Argument {
  std::size_t parameter;  // Of the filter.
  ExpressionNode value;
};

}  // namespace treaty::templates::language
