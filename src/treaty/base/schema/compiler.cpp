#include "treaty/base/schema/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "treaty/base/json/scan.h"
#include "treaty/base/number.h"
#include "treaty/base/schema/keywords.h"
#include "treaty/base/schema/messages.h"

namespace treaty::schema {
namespace {

using json::Value;

// The text of a fragment, where a URI has `%25` for `%`.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? json::hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? json::hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      out.push_back(text[i]);
    } else {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

std::string pointer_token(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    out.push_back(two == "~0" ? '~' : two == "~1" ? '/' : text[i]);
    if (two == "~0" || two == "~1") ++i;
  }
  return out;
}

std::optional<Value> element_at(Value array, std::string_view index) {
  auto left = parse_count(index);
  for (const Value element : array.elements()) {
    if (!left) break;
    if ((*left)-- == 0) return element;
  }
  return std::nullopt;
}

// The schemas that judge the same value as this one.
std::vector<NodeIndex> beside(const SchemaNode& node) {
  std::vector<NodeIndex> found;
  if (node.object) {
    for (const Dependence& dependence : node.object->dependences) {
      found.push_back(dependence.schema);
    }
  }
  if (node.combination) {
    const Combination& it = *node.combination;
    for (const auto* list : {&it.all_of, &it.any_of, &it.one_of}) {
      found.insert(found.end(), list->begin(), list->end());
    }
    found.insert(found.end(),
                 {it.reference, it.negated, it.condition, it.consequence, it.alternative});
  }
  std::erase(found, kNone);
  return found;
}

}  // namespace

std::optional<Error> Compiler::compile() {
  only_references_ = draft_of(json::find_text(root_, "$schema")) == Draft::draft_07;
  compile_schema(root_);
  resolve_references();
  if (!error_) refuse_endless_references();
  return std::move(error_);
}

void Compiler::fail(std::string message) {
  if (!error_) error_ = Error{ErrorCode::not_a_document, std::move(message), pointer_};
}

NodeIndex Compiler::compile_schema(Value schema) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  const auto [place, is_new] = places_.emplace(schema.begin(), index);
  if (!is_new) return place->second;
  nodes_.emplace_back();
  const NodeIndex outer = std::exchange(current_, index);
  SchemaNode node;
  if (schema.is_boolean()) {
    node.refuses_all = !schema.boolean();
  } else if (schema.is_object()) {
    compile_members(node, schema);
  } else {
    fail("a schema is an object, or true or false");
  }
  nodes_[index] = std::move(node);
  current_ = outer;
  return index;
}

void Compiler::compile_members(SchemaNode& node, Value schema) {
  const bool only_reference = only_references_ && schema.members().find("$ref");
  for (const json::Member member : schema.members()) {
    if (error_) return;
    const std::string_view name = member.name.text();
    if (is_annotation(name) || (only_reference && name != "$ref")) continue;
    const Step step(pointer_, name);
    const auto keyword = std::ranges::find(keywords(), name, &Keyword::name);
    if (keyword != keywords().end()) {
      keyword->read(*this, node, member.value);
    } else {
      std::vector<std::string_view> checked;
      for (const Keyword& one : keywords()) checked.push_back(one.name);
      fail(why_refused(name, checked));
    }
  }
  if (node.object) put_names_in_order(*node.object);
}

NodeIndex Compiler::compile_below(Value schema, std::string_view token) {
  const Step step(pointer_, token);
  return compile_schema(schema);
}

std::vector<NodeIndex> Compiler::compile_list(Value schemas) {
  std::vector<NodeIndex> list;
  if (!is_array(schemas)) return list;
  for (const Value schema : schemas.elements()) {
    list.push_back(compile_below(schema, std::to_string(list.size())));
  }
  if (list.empty()) fail("expected at least one schema");
  return list;
}

// A place that is referred to need not be one that the schema's keywords lead to.
void Compiler::resolve_references() {
  for (std::size_t i = 0; i < pending_.size() && !error_; ++i) {
    const PendingReference reference = pending_[i];
    const auto target = find(reference.target);
    pointer_ = target ? reference.target : reference.place;
    if (!target) {
      return fail(fmt::format("{} is not in this schema", quote(reference.text)));
    }
    const NodeIndex index = compile_schema(*target);
    nodes_[reference.node].combination->reference = index;
  }
}

std::optional<Value> Compiler::find(std::string_view pointer) const {
  std::optional<Value> at = root_;
  while (at && !pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string token = pointer_token(pointer.substr(1, end - 1));
    pointer.remove_prefix(end);
    if (at->is_object()) {
      at = at->members().find(token);
    } else if (at->is_array()) {
      at = element_at(*at, token);
    } else {
      return std::nullopt;
    }
  }
  return at;
}

void Compiler::read_reference(SchemaNode& node, Value value) {
  const std::string_view text = value.is_string() ? value.text() : "";
  if (!text.starts_with('#')) {
    return fail("expected a reference inside this schema, such as \"#/$defs/name\"");
  }
  std::string target = percent_decoded(text.substr(1));
  if (!target.empty() && target[0] != '/') {
    return fail("anchors are not supported; refer to the place with \"#/$defs/…\"");
  }
  part(node.combination);
  pending_.push_back({current_, text, std::move(target), pointer_});
}

// Every way that leads back to where it began without going into the value has a `$ref` in it.
void Compiler::refuse_endless_references() {
  std::vector<std::uint8_t> colors(nodes_.size());
  for (const PendingReference& reference : pending_) {
    if (!goes_round(reference.node, colors)) continue;
    pointer_ = reference.place;
    return fail("the reference leads back to itself without going into the value");
  }
}

// Depth first, with a stack of its own: a chain of references may be long.
bool Compiler::goes_round(NodeIndex start, std::vector<std::uint8_t>& colors) const {
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::pair<NodeIndex, bool>> todo{{start, false}};
  while (!todo.empty()) {
    const auto [index, leaving] = todo.back();
    todo.pop_back();
    if (leaving) {
      colors[index] = done;
    } else if (colors[index] == unseen) {
      colors[index] = open;
      todo.emplace_back(index, true);
      for (const NodeIndex next : beside(nodes_[index])) {
        if (colors[next] == open) return true;
        if (colors[next] == unseen) todo.emplace_back(next, false);
      }
    }
  }
  return false;
}

void Compiler::put_names_in_order(ObjectRules& rules) {
  std::ranges::sort(rules.names, ObjectRules::is_before, &KnownName::name);
  std::vector<KnownName> joined;
  for (const KnownName& one : rules.names) {
    if (joined.empty() || joined.back().name != one.name) {
      joined.push_back(one);
    } else {
      joined.back().required = joined.back().required || one.required;
      if (one.property != kNone) joined.back().property = one.property;
    }
  }
  rules.names = std::move(joined);
}

}  // namespace treaty::schema
