#include <fmt/format.h>

#include "treaty/base/try.h"
#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/evaluation.h"
#include "treaty/templates/language/operations.h"

namespace treaty::templates::blocks {
namespace {

using language::Evaluation;
using language::ExpressionNode;
using language::kind_name;
using language::kLargestText;
using language::Operand;

using Done = std::expected<void, std::string>;

Operand loop_variable(std::size_t index, std::size_t length) {
  const auto position = static_cast<std::int64_t>(index);
  const auto count = static_cast<std::int64_t>(length);
  return Operand(Object{{"index", position + 1},
                        {"index0", position},
                        {"first", index == 0},
                        {"last", index + 1 == length},
                        {"length", count},
                        {"revindex", count - position},
                        {"revindex0", count - position - 1}});
}

class Renderer {
 public:
  explicit Renderer(const Scope& scope) : evaluation_(scope, language::Dialect::text) {}

  Done render(const Body& body) {
    for (const Statement& statement : body) {
      TREATY_TRY_VOID(
          std::visit([this](const auto& content) { return render(content); }, statement.content));
    }
    return {};
  }

  std::string take() { return std::move(out_); }

 private:
  Done render(const Text& text) {
    out_ += text.text;
    return within_bounds();
  }

  Done render(const Print& print) {
    TREATY_TRY(const Operand value, evaluation_.evaluate(print.value));
    if (!value.is_undefined()) append_printed(out_, *value);
    return within_bounds();
  }

  Done render(const If& block);
  Done render(const For& block);
  Done render(const Set& block);
  std::expected<std::vector<const Dynamic*>, std::string> chosen_items(const For& block,
                                                                       const List& list);
  Done bind(const For& block, const Dynamic& item);

  Done within_bounds() const {
    if (out_.size() > kLargestText) return std::unexpected("the text is longer than 16 MiB");
    return {};
  }

  Evaluation evaluation_;
  std::string out_;
};

Done Renderer::render(const If& block) {
  for (const Branch& branch : block.branches) {
    TREATY_TRY(const Operand condition, evaluation_.evaluate(branch.condition));
    if (condition.is_true()) return render(branch.body);
  }
  return render(block.otherwise);
}

// The variables of one round; whoever calls drops them.
Done Renderer::bind(const For& block, const Dynamic& item) {
  if (block.targets.size() == 1) {
    evaluation_.set_variable(block.targets[0], Operand::borrowed(item));
    return {};
  }
  const auto* parts = item.if_array();
  if (parts == nullptr || parts->size() != block.targets.size()) {
    return std::unexpected(fmt::format("{} cannot be taken apart into {} variables",
                                       kind_name(item), block.targets.size()));
  }
  for (std::size_t at = 0; at < parts->size(); ++at) {
    evaluation_.set_variable(block.targets[at], Operand::borrowed((*parts)[at]));
  }
  return {};
}

std::expected<std::vector<const Dynamic*>, std::string> Renderer::chosen_items(const For& block,
                                                                               const List& list) {
  std::vector<const Dynamic*> items;
  const std::size_t variables = evaluation_.variable_count();
  for (const Dynamic& item : list) {
    if (block.condition != nullptr) {
      TREATY_TRY_VOID(bind(block, item));
      TREATY_TRY(const Operand is_chosen, evaluation_.evaluate(*block.condition));
      evaluation_.drop_variables_from(variables);
      if (!is_chosen.is_true()) continue;
    }
    items.push_back(&item);
  }
  return items;
}

Done Renderer::render(const For& block) {
  TREATY_TRY(Operand value, evaluation_.evaluate(block.items));
  TREATY_TRY(const Operand list, filters::items_of(std::move(value)));
  TREATY_TRY(const auto items, chosen_items(block, list->get_array()));
  if (items.empty()) return render(block.otherwise);

  const std::size_t variables = evaluation_.variable_count();
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (!evaluation_.spend(1)) {
      return std::unexpected(fmt::format("it takes more than {} steps", language::kMostSteps));
    }
    if (block.needs_loop) evaluation_.set_variable("loop", loop_variable(at, items.size()));
    Done done = bind(block, *items[at]);
    if (done) done = render(block.body);
    evaluation_.drop_variables_from(variables);
    if (!done) return done;
  }
  return {};
}

Done Renderer::render(const Set& block) {
  if (block.value != nullptr) {
    TREATY_TRY(Operand value, evaluation_.evaluate(*block.value));
    evaluation_.set_variable(block.name, std::move(value));
    return {};
  }
  std::string outside = std::exchange(out_, {});
  const Done done = render(block.body);
  const std::string inside = std::exchange(out_, std::move(outside));
  if (done) evaluation_.set_variable(block.name, Operand(boost::json::string(inside)));
  return done;
}

}  // namespace

std::expected<std::string, std::string> render(const Body& body, const Scope& scope) {
  Renderer renderer(scope);
  TREATY_TRY_VOID(renderer.render(body));
  return renderer.take();
}

}  // namespace treaty::templates::blocks
