// Conditions and templates of machines (machines.md sections 3 and 2): parsed once, evaluated
// often.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/templates/value.h"

namespace treaty::templates {

// What names mean while a condition or a template is evaluated. The values stay with the caller.
struct Binding {
  std::string_view name;
  const Dynamic* value;
};

struct Scope {
  const Dynamic* context = nullptr;  // Null pointers stand for null.
  const Dynamic* input = nullptr;
  const Dynamic* output = nullptr;
  const Dynamic* result = nullptr;
  bool context_over_input = false;   // `input.k` is `context.k` where the context has that key.
  std::span<const Binding> bound{};  // More names: of foreach.
};

// What is wrong with a text, and where in it.
struct SyntaxFault {
  std::string message;
  std::size_t offset = 0;  // In bytes.
};

class Expression {
 public:
  struct ExpressionNode;

  // Syntax and names: `context`, `input`, `output`, `result` are known. An empty text is true.
  static std::expected<Expression, SyntaxFault> parse(std::string_view text);

  // The error says what was wrong, for people.
  std::expected<Dynamic, std::string> evaluate(const Scope& scope) const;

  // evaluate() as a condition, without a copy of the value.
  std::expected<bool, std::string> holds(const Scope& scope) const;

  // Whether that name stands in it.
  bool names(std::string_view name) const;

 private:
  explicit Expression(std::shared_ptr<const ExpressionNode> root) : root_(std::move(root)) {}
  std::shared_ptr<const ExpressionNode> root_;
};

// Any value, in which strings at every depth may be references (`context.a`) or texts of the Jinja
// subset.
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
