// Templates of machines (machines.md section 2): any value, in which strings at every depth may be
// references (`context.a`) or texts of the Jinja subset. Parsed once, rendered often.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/templates/expression.h"

namespace treaty::templates {

class Template {
 public:
  struct Node;

  // A fault's offset is within the string that has it.
  static std::expected<Template, SyntaxFault> parse(const Dynamic& source);

  // A wrong template, a missing member of an undefined value, a division by zero… The error is for
  // people.
  std::expected<Dynamic, std::string> render(const Scope& scope) const;

  // Each variable that is neither a known name (context, input, output, result), nor one of
  // `bound`, nor given a value within the template, where it first stands. Of one string: for the
  // checker, which knows its line.
  std::vector<SyntaxFault> unknown_names(std::span<const std::string_view> bound) const;

 private:
  explicit Template(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace treaty::templates
