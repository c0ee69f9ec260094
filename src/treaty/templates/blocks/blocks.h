// A text of the Jinja subset, taken apart: plain text, `{{ }}`, if, for, set.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "treaty/templates/language/tree.h"

namespace treaty::templates::blocks {

struct Statement;
using Body = std::vector<Statement>;

struct Text {
  std::string text;
};

struct Print {
  language::Node value;
};

struct Branch;
struct If {
  std::vector<Branch> branches;  // `if`, `elif`…
  Body otherwise;
};

struct For {
  std::vector<std::string> targets;  // More than one: an item is a list of as many.
  language::Node items;
  std::unique_ptr<language::Node> condition;  // Items that it does not hold for are left out.
  bool needs_loop = false;                    // The body names `loop`.
  Body body;
  Body otherwise;  // Without items.
};

struct Set {
  std::string name;
  std::unique_ptr<language::Node> value;  // None: what the body renders to.
  Body body;
};

struct Statement {
  std::variant<Text, Print, If, For, Set> content;
};

struct Branch {
  language::Node condition;
  Body body;
};

}  // namespace treaty::templates::blocks
