#include "treaty/base/schema/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "treaty/base/number.h"
#include "treaty/base/percent.h"
#include "treaty/base/schema/messages.h"
#include "treaty/base/text.h"

namespace treaty::schema {
namespace {

using json::Value;

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

struct TypeName {
  std::string_view name;
  std::uint8_t bits;
};

constexpr TypeName kTypeNames[] = {
    {"null", kNull},       {"boolean", kBoolean},
    {"integer", kInteger}, {"number", kNumber | kInteger},
    {"string", kString},   {"array", kArray},
    {"object", kObject},
};

// 0 when there is no such type.
std::uint8_t type_bits(Value name) {
  if (!name.is_string()) return 0;
  const auto found = std::ranges::find(kTypeNames, name.text(), &TypeName::name);
  return found == std::end(kTypeNames) ? std::uint8_t{0} : found->bits;
}

// The rules of one kind, made when the first of them comes.
template <class Rules>
Rules& part(std::unique_ptr<Rules>& rules) {
  if (!rules) rules = std::make_unique<Rules>();
  return *rules;
}

// Goes over a schema once. The first thing that is wrong ends it: from then on nothing is added.
class Compiler {
 public:
  // The document is read and without faults.
  Compiler(json::Value root, std::vector<SchemaNode>& nodes) : root_(root), nodes_(nodes) {}

  // The root becomes the first node.
  std::optional<Error> compile() {
    only_references_ = draft_of(json::find_text(root_, "$schema")) == Draft::draft_07;
    compile_schema(root_);
    resolve_references();
    if (!error_) refuse_endless_references();
    return std::move(error_);
  }

 private:
  struct PendingReference {
    NodeIndex node;
    std::string_view text;  // What the `$ref` says,
    std::string target;     // the JSON pointer in it,
    std::string place;      // and where it stands.
  };

  // Lengthens the pointer while something below is read.
  class Step {
   public:
    Step(std::string& pointer, std::string_view token) : pointer_(pointer), size_(pointer.size()) {
      json::append_pointer_token(pointer_, token);
    }
    ~Step() { pointer_.resize(size_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& pointer_;
    std::size_t size_;
  };

  // `read` puts what a keyword says into the node of its schema.
  struct Keyword {
    std::string_view name;
    void (*read)(Compiler&, SchemaNode&, json::Value);
  };
  void fail(std::string message) {
    if (!error_) error_ = Error{ErrorCode::not_a_document, std::move(message), pointer_};
  }

  NodeIndex compile_schema(Value schema) {
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

  void compile_members(SchemaNode& node, Value schema) {
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

  NodeIndex compile_below(Value schema, std::string_view token) {
    const Step step(pointer_, token);
    return compile_schema(schema);
  }

  std::vector<NodeIndex> compile_list(Value schemas) {
    std::vector<NodeIndex> list;
    if (!is_array(schemas)) return list;
    for (const Value schema : schemas.elements()) {
      list.push_back(compile_below(schema, std::to_string(list.size())));
    }
    if (list.empty()) fail("expected at least one schema");
    return list;
  }

  // A place that is referred to need not be one that the schema's keywords lead to.
  void resolve_references() {
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

  std::optional<Value> find(std::string_view pointer) const {
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

  void read_reference(SchemaNode& node, Value value) {
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
  void refuse_endless_references() {
    std::vector<std::uint8_t> colors(nodes_.size());
    for (const PendingReference& reference : pending_) {
      if (!goes_round(reference.node, colors)) continue;
      pointer_ = reference.place;
      return fail("the reference leads back to itself without going into the value");
    }
  }

  // Depth first, with a stack of its own: a chain of references may be long.
  bool goes_round(NodeIndex start, std::vector<std::uint8_t>& colors) const {
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

  void put_names_in_order(ObjectRules& rules) {
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

  static std::span<const Keyword> keywords() {
    using C = Compiler;
    using N = SchemaNode;
    using V = Value;
    static constexpr Keyword kKeywords[] = {
        {"type", [](C& c, N& n, V v) { c.read_type(n, v); }},
        {"properties", [](C& c, N& n, V v) { c.read_properties(n, v); }},
        {"required", [](C& c, N& n, V v) { c.read_required(n, v); }},
        {"additionalProperties",
         [](C& c, N& n, V v) { part(n.object).additional = c.compile_schema(v); }},
        {"enum", [](C& c, N& n, V v) { c.read_enum(n, v); }},
        {"const", [](C&, N& n, V v) { n.constant = v; }},
        {"items", [](C& c, N& n, V v) { c.read_items(n, v); }},
        {"minimum", [](C& c, N& n, V v) { part(n.number).minimum = c.bound(v); }},
        {"maximum", [](C& c, N& n, V v) { part(n.number).maximum = c.bound(v); }},
        {"exclusiveMinimum",
         [](C& c, N& n, V v) { part(n.number).exclusive_minimum = c.bound(v); }},
        {"exclusiveMaximum",
         [](C& c, N& n, V v) { part(n.number).exclusive_maximum = c.bound(v); }},
        {"multipleOf", [](C& c, N& n, V v) { c.read_multiple_of(n, v); }},
        {"minLength", [](C& c, N& n, V v) { part(n.text).least = c.count(v); }},
        {"maxLength", [](C& c, N& n, V v) { part(n.text).most = c.count(v); }},
        {"pattern", [](C& c, N& n, V v) { c.read_pattern(n, v); }},
        {"minItems", [](C& c, N& n, V v) { part(n.array).least = c.count(v); }},
        {"maxItems", [](C& c, N& n, V v) { part(n.array).most = c.count(v); }},
        {"uniqueItems", [](C& c, N& n, V v) { c.read_unique_items(n, v); }},
        {"prefixItems", [](C& c, N& n, V v) { part(n.array).prefix = c.compile_list(v); }},
        {"contains", [](C& c, N& n, V v) { part(n.array).contains = c.compile_schema(v); }},
        {"minContains", [](C& c, N& n, V v) { part(n.array).least_contained = c.count(v); }},
        {"maxContains", [](C& c, N& n, V v) { part(n.array).most_contained = c.count(v); }},
        {"minProperties", [](C& c, N& n, V v) { part(n.object).least = c.count(v); }},
        {"maxProperties", [](C& c, N& n, V v) { part(n.object).most = c.count(v); }},
        {"propertyNames",
         [](C& c, N& n, V v) { part(n.object).name_schema = c.compile_schema(v); }},
        {"patternProperties", [](C& c, N& n, V v) { c.read_pattern_properties(n, v); }},
        {"dependentRequired", [](C& c, N& n, V v) { c.read_dependent_required(n, v); }},
        {"dependentSchemas", [](C& c, N& n, V v) { c.read_dependent_schemas(n, v); }},
        {"allOf", [](C& c, N& n, V v) { part(n.combination).all_of = c.compile_list(v); }},
        {"anyOf", [](C& c, N& n, V v) { part(n.combination).any_of = c.compile_list(v); }},
        {"oneOf", [](C& c, N& n, V v) { part(n.combination).one_of = c.compile_list(v); }},
        {"not", [](C& c, N& n, V v) { part(n.combination).negated = c.compile_schema(v); }},
        {"if", [](C& c, N& n, V v) { part(n.combination).condition = c.compile_schema(v); }},
        {"then", [](C& c, N& n, V v) { part(n.combination).consequence = c.compile_schema(v); }},
        {"else", [](C& c, N& n, V v) { part(n.combination).alternative = c.compile_schema(v); }},
        {"$ref", [](C& c, N& n, V v) { c.read_reference(n, v); }},
        {"$defs", [](C& c, N&, V v) { c.read_definitions(v); }},
        {"definitions", [](C& c, N&, V v) { c.read_definitions(v); }},
        {"$schema", [](C& c, N&, V v) { c.read_draft(v); }},
        {"$id", [](C& c, N&, V v) { c.read_id(v); }},
    };
    return kKeywords;
  }

  // Every member, with the pointer at it; refused unless the value is an object.
  void each_member(Value value, auto read) {
    if (!value.is_object()) return fail("expected an object");
    for (const json::Member member : value.members()) {
      const Step step(pointer_, member.name.text());
      read(member.name.text(), member.value);
    }
  }

  bool is_array(Value value) {
    if (!value.is_array()) fail("expected an array");
    return value.is_array();
  }

  std::uint64_t count(Value value) {
    const auto number = value.is_number() ? Decimal(value.source()).count() : std::nullopt;
    if (!number) fail("expected a whole number that is not negative");
    return number.value_or(0);
  }

  std::optional<Bound> bound(Value value) {
    if (value.is_number()) return Bound{Decimal(value.source()), value.integer(), value.source()};
    fail("expected a number");
    return std::nullopt;
  }

  std::vector<std::string_view> names(Value value) {
    std::vector<std::string_view> found;
    if (!is_array(value)) return found;
    for (const Value name : value.elements()) {
      if (!name.is_string()) fail("expected an array of strings");
      if (error_) break;
      found.push_back(name.text());
    }
    return found;
  }

  std::optional<Pattern> pattern(std::string_view text) {
    auto compiled = Pattern::compile(text);
    if (compiled) return std::move(*compiled);
    fail(fmt::format("the pattern {}", compiled.error()));
    return std::nullopt;
  }

  void read_draft(Value value) {
    if (!draft_of(json::text_of(value))) {
      fail("expected \"https://json-schema.org/draft/2020-12/schema\" (or of 2019-09 or draft-07)");
    }
  }

  // Below the root it would change what "#" means.
  void read_id(Value value) {
    if (pointer_ != "/$id") fail("\"$id\" is supported at the root only; leave it out");
    if (!value.is_string()) fail("expected a string");
  }

  void read_definitions(Value value) {
    each_member(value, [this](std::string_view, Value schema) { compile_schema(schema); });
  }

  void read_type(SchemaNode& node, Value value) {
    std::uint8_t types = 0;
    bool all_known = true;
    const auto add = [&](Value name) {
      const std::uint8_t bits = type_bits(name);
      all_known = all_known && bits != 0;
      types |= bits;
    };
    if (value.is_array()) {
      for (const Value name : value.elements()) add(name);
    } else {
      add(value);
    }
    if (!all_known || types == 0) {
      fail("expected null, boolean, integer, number, string, array, object, or an array of them");
    }
    node.types = types;
  }

  void read_enum(SchemaNode& node, Value value) {
    if (!is_array(value)) return;
    ChoiceRules& rules = part(node.choice);
    rules.values = value;
    for (const Value choice : value.elements()) {
      if (choice.is_string()) {
        rules.strings.push_back(choice.text());
      } else {
        rules.others.push_back(choice);
      }
    }
    std::ranges::sort(rules.strings);
  }

  void read_multiple_of(SchemaNode& node, Value value) {
    auto divisor = bound(value);
    if (!divisor) return;
    if (divisor->number.is_zero() || divisor->number.is_negative()) {
      return fail("expected a number greater than 0");
    }
    if (!divisor->number.coefficient()) return fail("has more digits than can be divided by");
    part(node.number).multiple_of = std::move(divisor);
  }

  void read_pattern(SchemaNode& node, Value value) {
    if (!value.is_string()) return fail("expected a regular expression, as a string");
    TextRules& rules = part(node.text);
    rules.pattern = pattern(value.text());
    rules.pattern_source = value.text();
  }

  void read_items(SchemaNode& node, Value value) {
    if (value.is_array()) return fail("an array of schemas is called \"prefixItems\"");
    part(node.array).items = compile_schema(value);
  }

  void read_unique_items(SchemaNode& node, Value value) {
    if (!value.is_boolean()) return fail("expected true or false");
    part(node.array).unique = value.boolean();
  }

  void read_properties(SchemaNode& node, Value value) {
    ObjectRules& rules = part(node.object);
    each_member(value, [&](std::string_view name, Value schema) {
      rules.names.push_back({.name = name, .property = compile_schema(schema)});
    });
  }

  void read_required(SchemaNode& node, Value value) {
    if (value.is_boolean()) {
      return fail("\"required\" stands in the object's schema, as an array of names");
    }
    for (const std::string_view name : names(value)) {
      part(node.object).names.push_back({.name = name, .required = true});
    }
  }

  void read_pattern_properties(SchemaNode& node, Value value) {
    each_member(value, [&](std::string_view name, Value schema) {
      auto compiled = pattern(name);
      if (!compiled) return;
      part(node.object).patterns.push_back({std::move(*compiled), compile_schema(schema)});
    });
  }

  void read_dependent_required(SchemaNode& node, Value value) {
    each_member(value, [&](std::string_view name, Value required) {
      part(node.object).dependences.push_back({.name = name, .required = names(required)});
    });
  }

  void read_dependent_schemas(SchemaNode& node, Value value) {
    each_member(value, [&](std::string_view name, Value schema) {
      part(node.object).dependences.push_back({.name = name, .schema = compile_schema(schema)});
    });
  }

  json::Value root_;
  std::vector<SchemaNode>& nodes_;
  std::unordered_map<std::size_t, NodeIndex> places_;  // Where a schema begins → its node.
  std::vector<PendingReference> pending_;
  std::string pointer_;           // Of what is being read.
  NodeIndex current_ = kNone;     // The node of the schema that is being read.
  bool only_references_ = false;  // Draft-07: beside a `$ref` nothing counts.
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> compile(json::Value root, std::vector<SchemaNode>& nodes) {
  return Compiler(root, nodes).compile();
}

}  // namespace treaty::schema
