#include "treaty/contracts/schemas.h"

#include <array>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

// The files of the same stems.
TREATY_ASSET(treaty_schema_agent_execute_request);
TREATY_ASSET(treaty_schema_agent_execute_response);
TREATY_ASSET(treaty_schema_invoke_result);
TREATY_ASSET(treaty_schema_agent_result);
TREATY_ASSET(treaty_schema_bridge_request);
TREATY_ASSET(treaty_schema_bridge_response);
TREATY_ASSET(treaty_schema_assistant_response);

namespace treaty::contracts {
namespace {

std::string_view asset_of(Contract contract) {
  static constexpr std::array kAssets = {
      treaty_schema_agent_execute_request, treaty_schema_agent_execute_response,
      treaty_schema_invoke_result,         treaty_schema_agent_result,
      treaty_schema_bridge_request,        treaty_schema_bridge_response,
      treaty_schema_assistant_response};
  static_assert(kAssets.size() == kContracts.size());
  return kAssets[static_cast<std::size_t>(contract)]();
}

// What the strings and names below a schema's keyword are.
enum class Meaning {
  schema,         // A schema: its names are keywords.
  members,        // An object whose names are members' names and whose values are schemas.
  list_of_names,  // An array of members' names.
  anything,       // Values that stay as they are.
};

Meaning meaning_of(std::string_view keyword) {
  if (keyword == "properties" || keyword == "dependentSchemas" || keyword == "dependentRequired") {
    return Meaning::members;
  }
  if (keyword == "required") return Meaning::list_of_names;
  if (keyword == "enum" || keyword == "const" || keyword == "examples" || keyword == "default") {
    return Meaning::anything;
  }
  return Meaning::schema;
}

void copy_in_camel_case(json::Writer& writer, json::Value value, Meaning meaning) {
  if (value.is_object()) {
    writer.begin_object();
    for (const json::Member member : value.members()) {
      const std::string_view name = member.name.text();
      const bool member_name = meaning == Meaning::members;
      writer.name(member_name ? spelled(name, Dialect::camel) : std::string(name));
      Meaning below = meaning;
      if (member_name) {
        below = member.value.is_array() ? Meaning::list_of_names : Meaning::schema;
      } else if (meaning == Meaning::schema) {
        below = meaning_of(name);
      }
      // Names of members that a schema lists in order to forbid or allow them.
      if (name == "propertyNames" && member.value.is_object()) below = Meaning::list_of_names;
      copy_in_camel_case(writer, member.value, below);
    }
    writer.end_object();
  } else if (value.is_array()) {
    writer.begin_array();
    for (const json::Value element : value.elements()) copy_in_camel_case(writer, element, meaning);
    writer.end_array();
  } else if (value.is_string() && meaning == Meaning::list_of_names) {
    writer.value(spelled(value.text(), Dialect::camel));
  } else {
    writer.raw(value.source());
  }
}

}  // namespace

bool has_dialects(Contract contract) {
  return contract == Contract::request || contract == Contract::response ||
         contract == Contract::invoke_result;
}

std::string schema_text(Contract contract, Dialect dialect) {
  const std::string_view text = asset_of(contract);
  if (dialect == Dialect::pascal || !has_dialects(contract)) return std::string(text);
  const json::Document document(text);
  json::Writer writer(json::Layout::indented);
  copy_in_camel_case(writer, *document.root(), Meaning::schema);
  return writer.take() + "\n";
}

}  // namespace treaty::contracts
