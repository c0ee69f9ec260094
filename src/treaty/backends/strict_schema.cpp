#include "treaty/backends/strict_schema.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace treaty::backends {
namespace {

constexpr int kDeepest = 5;  // Objects and lists in one another.

constexpr auto kKnown = std::to_array<std::string_view>(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
     "title", "description", "$schema"});

bool is_one_of(json::Value words, std::string_view name) {
  for (const json::Value word : words.elements()) {
    if (word.is_string() && word.text() == name) return true;
  }
  return false;
}

bool is_strict(json::Value schema, int depth);

// A closed object, each of whose members is required.
bool is_strict_object(json::Value schema, int depth) {
  const auto more = schema.members().find("additionalProperties");
  const auto properties = schema.members().find("properties");
  const auto required = schema.members().find("required");
  if (!more || !more->is_boolean() || more->boolean()) return false;
  if (!properties || !properties->is_object() || !required || !required->is_array()) return false;
  for (const auto& [name, value] : properties->members()) {
    if (!is_one_of(*required, name.text()) || !is_strict(value, depth + 1)) return false;
  }
  return true;
}

bool is_each_strict(json::Value schemas, int depth) {
  if (!schemas.is_array()) return false;
  for (const json::Value one : schemas.elements()) {
    if (!is_strict(one, depth + 1)) return false;
  }
  return true;
}

bool is_strict(json::Value schema, int depth) {
  if (!schema.is_object() || depth > kDeepest) return false;
  for (const auto& [name, value] : schema.members()) {
    if (std::ranges::find(kKnown, name.text()) == kKnown.end()) return false;
  }
  if (const auto any_of = schema.members().find("anyOf")) {
    return depth > 0 && is_each_strict(*any_of, depth);
  }
  const auto type = schema.members().find("type");
  if (!type) return false;
  const auto is = [&type](std::string_view name) {
    return type->is_array() ? is_one_of(*type, name) : type->is_string() && type->text() == name;
  };
  if (is("object") && !is_strict_object(schema, depth)) return false;
  if (!is("array")) return depth > 0 || is("object");
  const auto items = schema.members().find("items");
  return depth > 0 && items && is_strict(*items, depth + 1);
}

}  // namespace

bool fits_strict_modes(json::Value schema) { return is_strict(schema, 0); }

}  // namespace treaty::backends
