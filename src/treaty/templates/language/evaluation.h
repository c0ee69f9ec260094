// Evaluates trees. Values of the scope are borrowed, never copied, until one is needed as a whole.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "treaty/templates/language/operand.h"
#include "treaty/templates/language/tokens.h"
#include "treaty/templates/language/tree.h"
#include "treaty/templates/template.h"

namespace treaty::templates::language {

// What a template may do before it is stopped.
constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;  // Of texts and lists on the way.

// Names that a template has given: of loops and `set`. The latest of a name counts. What is
// borrowed from one stays until it is dropped.
struct Variable {
  std::string_view name;
  Operand value;
};

class Evaluation {
 public:
  // Borrows the scope.
  Evaluation(const Scope& scope, Dialect dialect) : scope_(scope), dialect_(dialect) {}

  Result evaluate(const ExpressionNode& node);

  std::size_t variable_count() const { return variables_.size(); }
  void set_variable(std::string_view name, Operand value) {
    variables_.push_back(std::make_unique<Variable>(Variable{name, std::move(value)}));
  }
  void drop_variables_from(std::size_t count) { variables_.resize(count); }

  // Counts `steps` and says whether there may be more.
  bool spend(std::size_t steps);

 private:
  bool is_condition() const { return dialect_ == Dialect::condition; }
  Result of(const Literal& literal);
  Result of(const Name& name);
  Result of(const Access& access);
  Result of(const Negation& negation);
  Result of(const Not& negation);
  Result of(const Logic& logic);
  Result of(const Comparisons& comparisons);
  Result of(const Calculation& calculation);
  Result of(const ListOf& list);
  Result of(const ObjectOf& object);
  Result of(const Choice& choice);

  const Operand* find_variable(std::string_view name);
  Result begin_of(const Access& access, std::size_t& done);
  Result step(Operand base, const Step& step);
  Result member(Operand base, const MemberAccess& member) const;
  Result index(Operand base, const Operand& key) const;
  Result filtered(Operand base, const Filtering& filtering);
  Result calculated(Arithmetic operation, Operand left, const Operand& right) const;
  std::expected<bool, std::string> compared(Comparison comparison, const Operand& left,
                                            const Operand& right) const;
  Result missing(std::string_view name) const;
  Result charged(Result made);

  const Scope& scope_;
  Dialect dialect_;
  std::vector<std::unique_ptr<Variable>> variables_;  // Each stays in its place.
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace treaty::templates::language
