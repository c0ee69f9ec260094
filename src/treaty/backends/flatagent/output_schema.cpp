#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/backends/flatagent/flat_agent.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"

namespace treaty::backends {
namespace {

constexpr int kDeepest = 16;

struct TypeName {
  std::string_view written;
  std::string_view schema;  // Empty: any value.
};

bool is_optional(const Object& field) {
  const Dynamic* required = field.if_contains("required");
  return required != nullptr && required->is_bool() && !required->get_bool();
}

constexpr std::array<TypeName, 12> kTypes = {{
    {"str", "string"},
    {"string", "string"},
    {"int", "integer"},
    {"integer", "integer"},
    {"float", "number"},
    {"number", "number"},
    {"bool", "boolean"},
    {"boolean", "boolean"},
    {"json", ""},
    {"list", "array"},
    {"array", "array"},
    {"object", "object"},
}};

// What is asked for is closed, as strict modes want it; what is checked forgives members too many,
// and null for those that need not be there.
enum class Use : std::uint8_t { asking, checking };

class SchemaWriter {
 public:
  explicit SchemaWriter(Use use) : use_(use) {}

  // The object whose members are `fields`.
  Read<Object> object_of(const Object& fields, const std::string& where, int depth) {
    if (depth > kDeepest) return Wrong(fmt::format("{} is nested too deeply", where));
    Object properties;
    List required;
    for (const auto& [name, definition] : fields) {
      const std::string place = fmt::format("{}.{}", where, std::string_view(name));
      TREATY_TRY(auto field, field_of(definition, place, depth));
      if (is_optional(definition.get_object())) {
        is_strict_ = false;
        if (use_ == Use::checking) field = Object{{"anyOf", List{field, Object{{"type", "null"}}}}};
      } else {
        required.emplace_back(name);
      }
      properties[name] = std::move(field);
    }
    Object schema = {{"type", "object"},
                     {"properties", std::move(properties)},
                     {"required", std::move(required)}};
    if (use_ == Use::asking) schema["additionalProperties"] = false;
    return schema;
  }

  // Whether it is a schema that every field is required and typed in, as strict modes want it.
  bool is_strict() const { return is_strict_; }

 private:
  Read<Object> field_of(const Dynamic& definition, const std::string& where, int depth) {
    if (!definition.is_object()) {
      return Wrong(fmt::format("{} is {}; write {{type: str}}", where, kind_of(definition)));
    }
    const Object& field = definition.get_object();
    TREATY_TRY(const auto type, at(where, text_member(field, "type")));
    const auto known = std::ranges::find(kTypes, type.value_or("str"), &TypeName::written);
    if (known == kTypes.end()) {
      return Wrong(
          fmt::format("{} has the type {}; there are str, int, float, bool, json, list and object",
                      where, *type));
    }
    Object schema;
    if (!known->schema.empty()) schema["type"] = known->schema;
    if (known->schema.empty()) is_strict_ = false;
    TREATY_TRY_VOID(add_inside(schema, field, where, depth, known->schema));
    TREATY_TRY(const auto description, at(where, text_member(field, "description")));
    if (description) schema["description"] = *description;
    if (const Dynamic* words = member_of(field, "enum")) {
      if (!words->is_array() || words->get_array().empty()) {
        return Wrong(fmt::format("{}: `enum` is not a list of values", where));
      }
      schema["enum"] = *words;
    }
    return schema;
  }

  // What a list or an object holds.
  Read<void> add_inside(Object& schema, const Object& field, const std::string& where, int depth,
                        std::string_view type) {
    if (type == "array") {
      const Dynamic* items = member_of(field, "items");
      if (items == nullptr) {
        is_strict_ = false;
        return {};
      }
      if (depth >= kDeepest) return Wrong(fmt::format("{} is nested too deeply", where));
      TREATY_TRY(schema["items"], field_of(*items, where + ".items", depth + 1));
    }
    if (type == "object") {
      const Dynamic* properties = member_of(field, "properties");
      if (properties == nullptr) {
        is_strict_ = false;
        return {};
      }
      if (!properties->is_object()) {
        return Wrong(fmt::format("{}: `properties` is {}", where, kind_of(*properties)));
      }
      TREATY_TRY(const auto inside, object_of(properties->get_object(), where, depth + 1));
      for (const auto& [name, value] : inside) schema[name] = value;
    }
    return {};
  }

  Use use_;
  bool is_strict_ = true;
};

Read<std::string> schema_text(const Object& fields, SchemaWriter& schemas) {
  TREATY_TRY(const auto schema, schemas.object_of(fields, "output", 0));
  return json::to_json(schema);
}

}  // namespace

Read<WantedOutput> read_output(const Object& fields) {
  SchemaWriter asking(Use::asking);
  TREATY_TRY(auto asked, schema_text(fields, asking));
  SchemaWriter checking(Use::checking);
  TREATY_TRY(const auto checked, schema_text(fields, checking));
  auto compiled = schema::Schema::compile(checked);
  if (!compiled) {
    return Wrong(fmt::format("output{}: {}", compiled.error().where, compiled.error().message));
  }
  return WantedOutput{.request = {.schema_json = std::move(asked), .strict = asking.is_strict()},
                      .schema = *std::move(compiled)};
}

}  // namespace treaty::backends
