// A text of the Jinja subset, taken apart: plain text, `{{ }}`, if, for, set.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/templates/language/parser.h"
#include "treaty/templates/language/tree.h"
#include "treaty/templates/template.h"

namespace treaty::templates::blocks {

struct Statement;
using Body = std::vector<Statement>;

struct Text {
  std::string text;
};

struct Print {
  language::ExpressionNode value;
};

struct Branch;
struct If {
  std::vector<Branch> branches;  // `if`, `elif`…
  Body otherwise;
};

struct For {
  std::vector<std::string> targets;  // More than one: an item is a list of as many.
  language::ExpressionNode items;
  std::unique_ptr<language::ExpressionNode>
      condition;            // Items that it does not hold for are left out.
  bool needs_loop = false;  // The body names `loop`.
  Body body;
  Body otherwise;  // Without items.
};

struct Set {
  std::string name;
  std::unique_ptr<language::ExpressionNode> value;  // None: what the body renders to.
  Body body;
};

struct Statement {
  std::variant<Text, Print, If, For, Set> content;
};

struct Branch {
  language::ExpressionNode condition;
  Body body;
};

struct Blocks {
  Body body;
  std::vector<language::NamedVariable> variables;  // But those of loops, where these count.
  std::vector<std::string> set_names;              // What it sets anywhere, be it in a branch.
};

std::expected<Blocks, SyntaxFault> parse_blocks(std::string_view text);

// Within bounds of steps and size. The error is for people.
std::expected<std::string, std::string> render(const Body& body, const Scope& scope);

// Variables that nobody gives a value, each name once, where it first stands. Known are the four of
// every scope, those in `bound`, what the template sets anywhere, and within a loop its variables
// and `loop`.
std::vector<SyntaxFault> unknown_names(const Blocks& blocks,
                                       std::span<const std::string_view> bound);

}  // namespace treaty::templates::blocks
