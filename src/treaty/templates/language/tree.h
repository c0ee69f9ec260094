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

struct Node;
struct Step;
struct Argument;
using Child = std::unique_ptr<Node>;

enum class Root : std::uint8_t { context, input, output, result, other };
Root root_of(std::string_view name);

struct Literal {
  Value value;
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
  std::vector<Node> operands;
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
  std::vector<Node> operands;
  std::vector<Comparison> operators;
};

// One operator less than operands, all of one level.
struct Calculation {
  std::vector<Node> operands;
  std::vector<Arithmetic> operators;
};

struct ListOf {
  std::vector<Node> items;
};

struct ObjectOf {
  std::vector<Node> keys;
  std::vector<Node> values;
};

// `value if condition else otherwise`; without `else` it may be undefined.
struct Choice {
  Child value;
  Child condition;
  Child otherwise;
};

struct Node {
  std::size_t offset = 0;
  std::variant<Literal, Name, Access, Negation, Not, Logic, Comparisons, Calculation, ListOf,
               ObjectOf, Choice>
      content;
};

struct Member {
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
  std::variant<Member, Index, Filtering, Testing> content;
};

struct Argument {
  std::size_t parameter;  // Of the filter.
  Node value;
};

}  // namespace treaty::templates::language
