#include "treaty/templates/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/language/evaluation.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/language/parser.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates {
namespace {

using language::Root;

// What holds no template: the same value every time.
struct Constant {
  Dynamic value;
};

// `root.name.name`: the value itself. A root that is not one of the four is a reference only where
// it is bound.
struct Reference {
  std::string text;
  std::string root{};
  std::vector<std::string> path{};
};

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word_character);
}

std::optional<Reference> reference_in(std::string_view text) {
  std::string_view rest = without_space_around(text);
  Reference reference{.text = std::string(text)};
  while (true) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (!is_name(name)) return std::nullopt;
    reference.path.emplace_back(name);
    if (name.size() == rest.size()) break;
    rest.remove_prefix(name.size() + 1);
  }
  reference.root = reference.path.front();
  reference.path.erase(reference.path.begin());
  return reference;
}

Dynamic resolved(const Reference& reference, const Scope& scope) {
  const Dynamic* value = language::find_bound(scope, reference.root);
  std::size_t at = 0;
  if (value == nullptr) {
    const Root root = language::root_of(reference.root);
    if (root == Root::other || (root == Root::result && reference.path.empty())) {
      return boost::json::string(reference.text);
    }
    value = language::value_of(scope, root);
    if (root == Root::input && scope.context_over_input) {
      if (reference.path.empty()) return language::whole_input(scope).take();
      value = language::find_input(scope, reference.path[at++]);
    }
  }
  for (; value != nullptr && at < reference.path.size(); ++at) {
    value = value->is_object() ? value->get_object().if_contains(reference.path[at]) : nullptr;
  }
  return value == nullptr ? Dynamic() : *value;
}

}  // namespace

struct Template::Node {
  struct Entry;
  std::variant<Constant, Reference, blocks::Blocks, std::vector<Node>, std::vector<Entry>> content;

  static std::expected<Node, SyntaxFault> parse(const Dynamic& source, std::size_t depth);
  static std::expected<Node, SyntaxFault> parse_text(std::string_view text);
  bool is_constant() const { return std::holds_alternative<Constant>(content); }
  std::expected<Dynamic, std::string> render(const Scope& scope) const;
  void collect_unknown(std::span<const std::string_view> bound,
                       std::vector<SyntaxFault>& faults) const;
};

struct Template::Node::Entry {
  std::string key;
  Node value;
};

std::expected<Template::Node, SyntaxFault> Template::Node::parse_text(std::string_view text) {
  if (!is_utf8(text)) return std::unexpected(SyntaxFault{"the text is not UTF-8", 0});
  if (text.contains("{{") || text.contains("{%")) {
    TREATY_TRY(auto blocks, blocks::parse_blocks(text));
    return Node{std::move(blocks)};
  }
  if (auto reference = reference_in(text)) return Node{*std::move(reference)};
  return Node{Constant{boost::json::string(text)}};
}

std::expected<Template::Node, SyntaxFault> Template::Node::parse(const Dynamic& source,
                                                                 std::size_t depth) {
  if (depth > language::kDeepestValue) return std::unexpected(SyntaxFault{"nested too deeply", 0});
  if (const auto* text = source.if_string()) return parse_text(*text);
  bool is_constant = true;
  if (const auto* list = source.if_array()) {
    std::vector<Node> items;
    for (const Dynamic& item : *list) {
      TREATY_TRY(Node node, parse(item, depth + 1));
      is_constant = is_constant && node.is_constant();
      items.push_back(std::move(node));
    }
    if (!is_constant) return Node{std::move(items)};
  } else if (const auto* object = source.if_object()) {
    std::vector<Entry> entries;
    for (const auto& member : *object) {
      TREATY_TRY(Node node, parse(member.value(), depth + 1));
      is_constant = is_constant && node.is_constant();
      entries.push_back({std::string(member.key()), std::move(node)});
    }
    if (!is_constant) return Node{std::move(entries)};
  }
  return Node{Constant{source}};
}

std::expected<Dynamic, std::string> Template::Node::render(const Scope& scope) const {
  if (const auto* constant = std::get_if<Constant>(&content)) return constant->value;
  if (const auto* reference = std::get_if<Reference>(&content)) return resolved(*reference, scope);
  if (const auto* blocks = std::get_if<blocks::Blocks>(&content)) {
    TREATY_TRY(const std::string text, blocks::render(blocks->body, scope));
    return boost::json::string(text);
  }
  if (const auto* items = std::get_if<std::vector<Node>>(&content)) {
    List list;
    list.reserve(items->size());
    for (const Node& item : *items) {
      TREATY_TRY(Dynamic value, item.render(scope));
      list.push_back(std::move(value));
    }
    return list;
  }
  Object object;
  for (const Entry& entry : std::get<std::vector<Entry>>(content)) {
    auto value = entry.value.render(scope);
    if (!value) return std::unexpected(fmt::format("{}: {}", entry.key, value.error()));
    object.emplace(entry.key, *std::move(value));
  }
  return object;
}

void Template::Node::collect_unknown(std::span<const std::string_view> bound,
                                     std::vector<SyntaxFault>& faults) const {
  if (const auto* blocks = std::get_if<blocks::Blocks>(&content)) {
    std::ranges::move(blocks::unknown_names(*blocks, bound), std::back_inserter(faults));
  } else if (const auto* items = std::get_if<std::vector<Node>>(&content)) {
    for (const Node& item : *items) item.collect_unknown(bound, faults);
  } else if (const auto* entries = std::get_if<std::vector<Entry>>(&content)) {
    for (const Entry& entry : *entries) entry.value.collect_unknown(bound, faults);
  }
}

std::expected<Template, SyntaxFault> Template::parse(const Dynamic& source) {
  TREATY_TRY(Node node, Node::parse(source, 0));
  return Template(std::make_shared<const Node>(std::move(node)));
}

std::expected<Dynamic, std::string> Template::render(const Scope& scope) const {
  auto value = root_->render(scope);
  // A context that takes itself in, step by step, ends here.
  if (value && !std::holds_alternative<Reference>(root_->content) &&
      language::is_deeper(*value, language::kDeepestValue)) {
    return std::unexpected("the value is nested too deeply");
  }
  return value;
}

std::vector<SyntaxFault> Template::unknown_names(std::span<const std::string_view> bound) const {
  std::vector<SyntaxFault> faults;
  root_->collect_unknown(bound, faults);
  return faults;
}

using language::Dialect;
using language::Evaluation;
using language::Parser;

struct Expression::ExpressionNode {
  language::ExpressionNode tree;
  std::array<bool, 4> is_named{};  // By root.
};

std::expected<Expression, SyntaxFault> Expression::parse(std::string_view text) {
  if (!is_utf8(text)) return std::unexpected(SyntaxFault{"the text is not UTF-8", 0});
  auto node = std::make_shared<ExpressionNode>();
  Parser parser(text, Dialect::condition);
  if (parser.token().kind == language::TokenKind::end && !parser.fault()) {
    node->tree.content = language::Literal{true};
    return Expression(std::move(node));
  }
  node->tree = parser.expression();
  if (parser.token().kind != language::TokenKind::end)
    parser.fail_at_token("an operator or the end");
  if (parser.fault()) return std::unexpected(*parser.fault());
  for (std::size_t root = 0; root < node->is_named.size(); ++root) {
    node->is_named[root] = parser.has_named(static_cast<language::Root>(root));
  }
  return Expression(std::move(node));
}

std::expected<Dynamic, std::string> Expression::evaluate(const Scope& scope) const {
  TREATY_TRY(auto value, Evaluation(scope, Dialect::condition).evaluate(root_->tree));
  return std::move(value).take();
}

std::expected<bool, std::string> Expression::holds(const Scope& scope) const {
  TREATY_TRY(const auto value, Evaluation(scope, Dialect::condition).evaluate(root_->tree));
  return value.is_true();
}

bool Expression::names(std::string_view name) const {
  const auto root = static_cast<std::size_t>(language::root_of(name));
  return root < root_->is_named.size() && root_->is_named[root];
}

}  // namespace treaty::templates
