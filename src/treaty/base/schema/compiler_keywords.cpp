// What the compiler reads out of each keyword.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "treaty/base/schema/compiler.h"
#include "treaty/base/schema/keywords.h"

namespace treaty::schema {
namespace {

using json::Value;

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

}  // namespace

std::span<const Compiler::Keyword> Compiler::keywords() {
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
      {"exclusiveMinimum", [](C& c, N& n, V v) { part(n.number).exclusive_minimum = c.bound(v); }},
      {"exclusiveMaximum", [](C& c, N& n, V v) { part(n.number).exclusive_maximum = c.bound(v); }},
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
      {"propertyNames", [](C& c, N& n, V v) { part(n.object).name_schema = c.compile_schema(v); }},
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

bool Compiler::is_object(Value value) {
  if (!value.is_object()) fail("expected an object");
  return value.is_object();
}

bool Compiler::is_array(Value value) {
  if (!value.is_array()) fail("expected an array");
  return value.is_array();
}

std::uint64_t Compiler::count(Value value) {
  const auto number = value.is_number() ? Decimal(value.source()).count() : std::nullopt;
  if (!number) fail("expected a whole number that is not negative");
  return number.value_or(0);
}

std::optional<Bound> Compiler::bound(Value value) {
  if (value.is_number()) return Bound{Decimal(value.source()), value.integer(), value.source()};
  fail("expected a number");
  return std::nullopt;
}

std::vector<std::string_view> Compiler::names(Value value) {
  std::vector<std::string_view> found;
  if (!is_array(value)) return found;
  for (const Value name : value.elements()) {
    if (!name.is_string()) fail("expected an array of strings");
    if (error_) break;
    found.push_back(name.text());
  }
  return found;
}

std::optional<Pattern> Compiler::pattern(std::string_view text) {
  auto compiled = Pattern::compile(text);
  if (compiled) return std::move(*compiled);
  fail(fmt::format("the pattern {}", compiled.error()));
  return std::nullopt;
}

void Compiler::read_draft(Value value) {
  if (!draft_of(json::text_of(value))) {
    fail("expected \"https://json-schema.org/draft/2020-12/schema\" (or of 2019-09 or draft-07)");
  }
}

// Below the root it would change what "#" means.
void Compiler::read_id(Value value) {
  if (pointer_ != "/$id") fail("\"$id\" is supported at the root only; leave it out");
  if (!value.is_string()) fail("expected a string");
}

void Compiler::read_definitions(Value value) {
  if (!is_object(value)) return;
  for (const json::Member member : value.members()) {
    compile_below(member.value, member.name.text());
  }
}

void Compiler::read_type(SchemaNode& node, Value value) {
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

void Compiler::read_enum(SchemaNode& node, Value value) {
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

void Compiler::read_multiple_of(SchemaNode& node, Value value) {
  auto divisor = bound(value);
  if (!divisor) return;
  if (divisor->number.is_zero() || divisor->number.is_negative()) {
    return fail("expected a number greater than 0");
  }
  if (!divisor->number.coefficient()) return fail("has more digits than can be divided by");
  part(node.number).multiple_of = std::move(divisor);
}

void Compiler::read_pattern(SchemaNode& node, Value value) {
  if (!value.is_string()) return fail("expected a regular expression, as a string");
  TextRules& rules = part(node.text);
  rules.pattern = pattern(value.text());
  rules.pattern_source = value.text();
}

void Compiler::read_items(SchemaNode& node, Value value) {
  if (value.is_array()) return fail("an array of schemas is called \"prefixItems\"");
  part(node.array).items = compile_schema(value);
}

void Compiler::read_unique_items(SchemaNode& node, Value value) {
  if (!value.is_boolean()) return fail("expected true or false");
  part(node.array).unique = value.boolean();
}

void Compiler::read_properties(SchemaNode& node, Value value) {
  if (!is_object(value)) return;
  ObjectRules& rules = part(node.object);
  for (const json::Member member : value.members()) {
    const std::string_view name = member.name.text();
    rules.names.push_back({.name = name, .property = compile_below(member.value, name)});
  }
}

void Compiler::read_required(SchemaNode& node, Value value) {
  if (value.is_boolean()) {
    return fail("\"required\" stands in the object's schema, as an array of names");
  }
  for (const std::string_view name : names(value)) {
    part(node.object).names.push_back({.name = name, .required = true});
  }
}

void Compiler::read_pattern_properties(SchemaNode& node, Value value) {
  if (!is_object(value)) return;
  for (const json::Member member : value.members()) {
    const Step step(pointer_, member.name.text());
    auto compiled = pattern(member.name.text());
    if (!compiled) return;
    part(node.object).patterns.push_back({std::move(*compiled), compile_schema(member.value)});
  }
}

void Compiler::read_dependent_required(SchemaNode& node, Value value) {
  if (!is_object(value)) return;
  for (const json::Member member : value.members()) {
    const Step step(pointer_, member.name.text());
    part(node.object)
        .dependences.push_back({.name = member.name.text(), .required = names(member.value)});
  }
}

void Compiler::read_dependent_schemas(SchemaNode& node, Value value) {
  if (!is_object(value)) return;
  for (const json::Member member : value.members()) {
    const std::string_view name = member.name.text();
    part(node.object)
        .dependences.push_back({.name = name, .schema = compile_below(member.value, name)});
  }
}

}  // namespace treaty::schema
