#include "treaty/templates/language/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "treaty/base/try.h"
#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/operations.h"

namespace treaty::templates::language {
namespace {

std::string undefined_text(const Operand& operand) {
  return fmt::format("{} is undefined", operand.undefined_name().empty()
                                            ? std::string("the value")
                                            : quoted_name(operand.undefined_name()));
}

std::unexpected<std::string> too_much() {
  return std::unexpected(fmt::format("it takes more than {} steps", kMostSteps));
}

}  // namespace

bool Evaluation::spend(std::size_t steps) {
  steps_ += steps;
  return steps_ <= kMostSteps;
}

// Memory for texts and lists is bounded over the whole of a template.
Result Evaluation::charged(Result made) {
  if (!made || !made->is_own()) return made;
  if (const auto* text = (*made)->if_string()) bytes_ += text->size();
  if (const auto* list = (*made)->if_array()) bytes_ += list->size() * sizeof(Dynamic);
  if (bytes_ > kMostBytes) return std::unexpected("it needs too much memory");
  return made;
}

Result Evaluation::evaluate(const ExpressionNode& node) {
  if (!spend(1) && !is_condition()) return too_much();
  return std::visit([this](const auto& content) { return of(content); }, node.content);
}

Result Evaluation::of(const Literal& literal) { return Operand::borrowed(literal.value); }

const Operand* Evaluation::find_variable(std::string_view name) {
  constexpr std::size_t kNamesPerStep = 16;
  steps_ += variables_.size() / kNamesPerStep;
  for (const auto& variable : std::views::reverse(variables_)) {
    if (variable->name == name) return &variable->value;
  }
  return nullptr;
}

Result Evaluation::of(const Name& name) {
  if (!is_condition()) {
    if (const Operand* variable = find_variable(name.name)) {
      return variable->is_undefined() ? Operand::undefined(variable->undefined_name())
                                      : Operand::borrowed(**variable);
    }
    if (const Dynamic* bound = find_bound(scope_, name.name)) return Operand::borrowed(*bound);
  }
  if (name.root == Root::other) return Operand::undefined(name.name);
  if (name.root == Root::input && scope_.context_over_input) return whole_input(scope_);
  const Dynamic* value = value_of(scope_, name.root);
  return value == nullptr ? Operand(Dynamic()) : Operand::borrowed(*value);
}

// A member of the input is found without putting the whole input together.
Result Evaluation::begin_of(const Access& access, std::size_t& done) {
  const auto* name = std::get_if<Name>(&access.base->content);
  const bool is_input = name != nullptr && name->root == Root::input && scope_.context_over_input &&
                        (is_condition() || (find_variable(name->name) == nullptr &&
                                            find_bound(scope_, name->name) == nullptr));
  if (!is_input || access.steps.empty()) return evaluate(*access.base);
  const Step& first = access.steps.front();
  if (const auto* member = std::get_if<MemberAccess>(&first.content)) {
    if (const Dynamic* found = find_input(scope_, member->name)) {
      done = 1;
      return Operand::borrowed(*found);
    }
  }
  if (const auto* index = std::get_if<Index>(&first.content)) {
    TREATY_TRY(const Operand key, evaluate(*index->key));
    if (const auto* text = key->if_string()) {
      if (const Dynamic* found = find_input(scope_, *text)) {
        done = 1;
        return Operand::borrowed(*found);
      }
    }
  }
  return evaluate(*access.base);
}

Result Evaluation::of(const Access& access) {
  std::size_t done = 0;
  Result value = begin_of(access, done);
  for (; value && done < access.steps.size(); ++done) {
    value = step(*std::move(value), access.steps[done]);
  }
  return value;
}

Result Evaluation::step(Operand base, const Step& step) {
  if (const auto* member = std::get_if<MemberAccess>(&step.content)) {
    return this->member(std::move(base), *member);
  }
  if (const auto* index = std::get_if<Index>(&step.content)) {
    TREATY_TRY(const Operand key, evaluate(*index->key));
    return this->index(std::move(base), key);
  }
  if (const auto* filtering = std::get_if<Filtering>(&step.content)) {
    return filtered(std::move(base), *filtering);
  }
  const auto& testing = std::get<Testing>(step.content);
  return Dynamic(testing.test->holds(base) != testing.is_negated);
}

Result Evaluation::missing(std::string_view name) const {
  return is_condition() ? Operand(Dynamic()) : Operand::undefined(name);
}

Result Evaluation::member(Operand base, const MemberAccess& member) const {
  if (base.is_undefined()) {
    return std::unexpected(
        fmt::format("{} and has no member {}", undefined_text(base), quoted_name(member.name)));
  }
  if (base->is_object()) {
    auto found = member_of(std::move(base), member.name);
    return found ? *std::move(found) : missing(member.name);
  }
  if (member.position) {
    auto found = element_of(std::move(base), *member.position);
    if (found) return *std::move(found);
  }
  return missing(member.name);
}

Result Evaluation::index(Operand base, const Operand& key) const {
  if (base.is_undefined()) {
    return std::unexpected(fmt::format("{} and has no members", undefined_text(base)));
  }
  const bool by_name = base->is_object() && key->is_string();
  const bool by_position = (base->is_array() || base->is_string()) && key->is_number();
  std::optional<Operand> found;
  if (by_name) {
    found = member_of(std::move(base), key->get_string());
  } else if (by_position && key->is_int64()) {
    found = element_of(std::move(base), key->get_int64());
  } else if (is_condition() && !base->is_null() && !key->is_uint64()) {
    return std::unexpected(fmt::format("{} cannot be indexed by {}", kind_name(*base),
                                       key->is_double() ? "a decimal number" : kind_name(*key)));
  }
  return found ? *std::move(found) : missing("");
}

Result Evaluation::filtered(Operand base, const Filtering& filtering) {
  std::vector<Operand> operands;
  operands.reserve(filtering.arguments.size());
  filters::Arguments arguments;
  for (const Argument& argument : filtering.arguments) {
    TREATY_TRY(Operand value, evaluate(argument.value));
    operands.push_back(std::move(value));
    arguments.set(argument.parameter, operands.back());
  }
  return charged(filtering.filter->apply(std::move(base), arguments));
}

Result Evaluation::of(const Negation& negation) {
  TREATY_TRY(const Operand operand, evaluate(*negation.operand));
  if (operand.is_undefined()) return std::unexpected(undefined_text(operand));
  const auto number = numeric_of(*operand);
  if (!number) return std::unexpected(fmt::format("'-' is not for {}", kind_name(*operand)));
  return negated(*number);
}

Result Evaluation::of(const Not& negation) {
  TREATY_TRY(const Operand operand, evaluate(*negation.operand));
  return Dynamic(!operand.is_true());
}

Result Evaluation::of(const Logic& logic) {
  Result value = Operand(Dynamic());
  for (const ExpressionNode& operand : logic.operands) {
    value = evaluate(operand);
    if (!value || value->is_true() != logic.is_and) break;
  }
  if (!value || !is_condition()) return value;
  return Dynamic(value->is_true());
}

std::expected<bool, std::string> Evaluation::compared(Comparison comparison, const Operand& left,
                                                      const Operand& right) const {
  const bool has_undefined = left.is_undefined() || right.is_undefined();
  switch (comparison) {
    case Comparison::equal:
    case Comparison::unequal: {
      const bool are_same =
          has_undefined ? left.is_undefined() && right.is_undefined() : are_equal(*left, *right);
      return are_same == (comparison == Comparison::equal);
    }
    case Comparison::in:
    case Comparison::not_in: {
      if (right.is_undefined()) return comparison == Comparison::not_in;
      TREATY_TRY(const bool is_found, contains(*right, *left));
      return is_found == (comparison == Comparison::in);
    }
    default: break;
  }
  if (has_undefined) return std::unexpected(undefined_text(left.is_undefined() ? left : right));
  TREATY_TRY(const std::partial_ordering order, ordering(*left, *right));
  switch (comparison) {
    case Comparison::less: return order < 0;
    case Comparison::less_or_equal: return order <= 0;
    case Comparison::greater: return order > 0;
    default: return order >= 0;
  }
}

Result Evaluation::of(const Comparisons& comparisons) {
  TREATY_TRY(Operand left, evaluate(comparisons.operands.front()));
  for (std::size_t at = 0; at < comparisons.operators.size(); ++at) {
    TREATY_TRY(Operand right, evaluate(comparisons.operands[at + 1]));
    TREATY_TRY(const bool holds, compared(comparisons.operators[at], left, right));
    if (!holds) return Dynamic(false);
    left = std::move(right);
  }
  return Dynamic(true);
}

Result Evaluation::calculated(Arithmetic operation, Operand left, const Operand& right) const {
  if (operation == Arithmetic::join) {
    std::string text = left->is_string() ? std::string() : print_operand(left);
    Operand begin = left->is_string() ? std::move(left) : Operand(boost::json::string(text));
    if (right->is_string()) return add(std::move(begin), *right);
    return add(std::move(begin), boost::json::string(print_operand(right)));
  }
  if (left.is_undefined() || right.is_undefined()) {
    return std::unexpected(undefined_text(left.is_undefined() ? left : right));
  }
  if (operation == Arithmetic::add) return add(std::move(left), *right);
  if (operation == Arithmetic::multiply && !is_condition() && can_repeat(*left, *right)) {
    return repeated(*left, *right);
  }
  return calculate(operation, *left, *right);
}

Result Evaluation::of(const Calculation& calculation) {
  Result left = evaluate(calculation.operands.front());
  for (std::size_t at = 0; left && at < calculation.operators.size(); ++at) {
    TREATY_TRY(const Operand right, evaluate(calculation.operands[at + 1]));
    left = calculated(calculation.operators[at], *std::move(left), right);
  }
  return charged(std::move(left));
}

Result Evaluation::of(const ListOf& list) {
  List out;
  out.reserve(list.items.size());
  for (const ExpressionNode& node : list.items) {
    TREATY_TRY(Operand item, evaluate(node));
    if (is_deeper(*item, kDeepestValue)) return std::unexpected("the list is nested too deeply");
    out.push_back(std::move(item).take());
  }
  return charged(Operand(std::move(out)));
}

Result Evaluation::of(const ObjectOf& object) {
  Object out;
  for (std::size_t at = 0; at < object.keys.size(); ++at) {
    TREATY_TRY(const Operand key, evaluate(object.keys[at]));
    TREATY_TRY(Operand value, evaluate(object.values[at]));
    if (!key->is_string()) {
      return std::unexpected(fmt::format("a key is a string, not {}", kind_name(*key)));
    }
    if (is_deeper(*value, kDeepestValue)) return std::unexpected("the object is nested too deeply");
    out.insert_or_assign(key->get_string(), std::move(value).take());
  }
  return Operand(std::move(out));
}

Result Evaluation::of(const Choice& choice) {
  TREATY_TRY(const Operand condition, evaluate(*choice.condition));
  if (condition.is_true()) return evaluate(*choice.value);
  if (choice.otherwise == nullptr) return Operand::undefined("");
  return evaluate(*choice.otherwise);
}

}  // namespace treaty::templates::language
